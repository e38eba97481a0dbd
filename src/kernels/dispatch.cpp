// Highway keeps one mask of enabled targets for the process; forcing a set is narrowing that mask.
#include "kernels/dispatch.h"

#include "kernels/targets.h"
// Highway's headers follow the list of targets.
#include <hwy/highway.h>

#include <cstdlib>

#include "base/error.h"

namespace mlxcel::kernels {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Best first: lower bits are better sets, and the portable one has the highest.
std::vector<int64_t> target_bits() {
  std::vector<int64_t> bits;
  const int64_t all = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  for (int64_t rest = all; rest != 0; rest &= rest - 1) bits.push_back(rest & -rest);
  return bits;
}

void use(int64_t mask) {
  hwy::SetSupportedTargetsForTest(mask);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::string active_target() { return hwy::TargetName(target_bits().front()); }

std::vector<std::string> supported_targets() {
  const int64_t current = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(0);
  std::vector<std::string> names;
  for (const int64_t bit : target_bits()) names.emplace_back(hwy::TargetName(bit));
  hwy::SetSupportedTargetsForTest(current);
  return names;
}

void force_target(std::string_view name) {
  if (name.empty()) return use(0);
  const std::string wanted = lower(name) == "scalar" ? "emu128" : lower(name);
  const int64_t current = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(0);
  std::string known;
  for (const int64_t bit : target_bits()) {
    const std::string candidate = hwy::TargetName(bit);
    if (lower(candidate) == wanted) return use(bit);
    known += (known.empty() ? "" : ", ") + candidate;
  }
  hwy::SetSupportedTargetsForTest(current);
  throw base::bad_input("MLXCEL_CPU: instruction set '{}' is not available, expected one of {}",
                        name, known);
}

void init_from_environment() {
  const char* name = std::getenv("MLXCEL_CPU");
  if (name != nullptr) force_target(name);
}

}  // namespace mlxcel::kernels
