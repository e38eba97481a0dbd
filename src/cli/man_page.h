// The manual page mlxcel(1), from the table of verbs.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel::cli {

// roff with the man(7) macros. It carries no date, so that equal programs print equal pages.
std::string man_page(std::string_view version);

}  // namespace mlxcel::cli
