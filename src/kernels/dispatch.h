// Which instruction set the kernels run on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mlxcel::kernels {

// Name of the set in use, e.g. "AVX3".
std::string active_target();

// Names of the sets that were compiled in and that this machine can run, best first.
std::vector<std::string> supported_targets();

// Uses the named set from now on (an empty name: the best). Throws kBadInput for one that is
// absent, naming those that are there. MLXCEL_CPU does the same for a whole process when
// `init_from_environment` is called at start. Not to be called while kernels run.
void force_target(std::string_view name);
void init_from_environment();

}  // namespace mlxcel::kernels
