// The flags that several verbs share, declared once in groups which a verb combines.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "cli/flag.h"

namespace mlxcel::cli {

using Flags = std::vector<Flag>;

Flags combine(std::initializer_list<Flags> groups);
Flags model_flags();
Flags picture_flags(std::string_view help);
Flags prompt_flags();
Flags system_flags();
Flags template_flags();
Flags sampling_flags();
Flags runtime_flags();
Flags json_flags(std::string_view help);
Flags verbosity_flags();
Flags models_dir_flags();

}  // namespace mlxcel::cli
