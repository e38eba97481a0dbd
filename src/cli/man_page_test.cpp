// The manual page holds the whole table, and no text of the table is read as a roff request.
#include "cli/man_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

std::string with_roff_dashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string section_of(const std::string& page, const Verb& verb) {
  const size_t begin = page.find(".SS " + std::string(verb.name) + "\n");
  if (begin == std::string::npos) {
    return {};
  }
  return page.substr(begin, page.find("\n.S", begin + 1) - begin);
}

TEST(ManPage, HoldsEveryFlagOfEveryVerb) {
  const std::string page = man_page("1.2.3");
  for (const Verb& verb : verb_table()) {
    SCOPED_TRACE(verb.name);
    const std::string section = section_of(page, verb);
    EXPECT_EQ(section.empty(), verb.hidden);
    for (const Flag& flag : verb.hidden ? std::vector<Flag>{} : verb.flags) {
      EXPECT_NE(section.find("\\fB" + with_roff_dashes(flag.name) + "\\fR"), std::string::npos)
          << flag.name;
      if (!flag.short_name.empty()) {
        EXPECT_NE(section.find("\\fB" + with_roff_dashes(flag.short_name) + "\\fR, "),
                  std::string::npos)
            << flag.short_name;
      }
    }
    for (const Flag& flag : verb.hidden ? std::vector<Flag>{} : verb.positionals) {
      EXPECT_NE(section.find("\\fI" + std::string(flag.name) + "\\fR"), std::string::npos);
    }
  }
}

TEST(ManPage, HasTheUsualSectionsAndTheVersion) {
  const std::string page = man_page("1.2.3");
  EXPECT_TRUE(page.starts_with(".TH MLXCEL 1 "));
  EXPECT_NE(page.find("mlxcel 1.2.3"), std::string::npos);
  size_t at = 0;
  for (const char* heading : {"NAME", "SYNOPSIS", "COMMANDS", "EXAMPLES", "EXIT STATUS"}) {
    at = page.find(".SH " + std::string(heading) + "\n", at);
    EXPECT_NE(at, std::string::npos) << heading;
  }
}

TEST(ManPage, OnlyKnownRequestsBeginALine) {
  constexpr std::array<std::string_view, 8> kRequests = {".TH", ".SH", ".SS", ".PP",
                                                         ".TP", ".RS", ".RE", ".nf"};
  std::istringstream lines(man_page("1.2.3"));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.empty());
    EXPECT_FALSE(line.starts_with('\''));
    const std::string_view request = std::string_view(line).substr(0, 3);
    if (line.starts_with('.') && request != ".fi") {
      EXPECT_NE(std::find(kRequests.begin(), kRequests.end(), request), kRequests.end()) << line;
    }
  }
}

}  // namespace
}  // namespace mlxcel::cli
