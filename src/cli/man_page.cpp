// Writes roff: text is escaped in one place, everything else is layout.
#include "cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "cli/help_text.h"
#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

constexpr size_t kExampleColumns = 66;  // a page of 80 columns, less the indents

// Text that roff prints as it is: a dash stays a dash that can be copied, and a line cannot be
// taken for a request.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string paragraph(std::string_view text) { return fmt::format(".PP\n{}\n", escaped(text)); }

std::string flag_entry(const Flag& flag) {
  const bool positional = !flag.name.starts_with('-');
  std::string term;
  if (!flag.short_name.empty()) {
    term += fmt::format("\\fB{}\\fR, ", escaped(flag.short_name));
  }
  term += fmt::format("\\f{}{}\\fR", positional ? 'I' : 'B', escaped(flag.name));
  if (!positional && !flag.is_switch()) {
    term += fmt::format(" \\fI{}\\fR", escaped(flag.placeholder));
  }
  return fmt::format(".TP\n{}\n{}.\n", term, escaped(flag_description(flag)));
}

std::string verb_section(const Verb& verb) {
  std::string out = fmt::format(".SS {}\n{}.\n", escaped(verb.name), escaped(verb.summary));
  out += fmt::format(".PP\n\\fB{}\\fR\n", escaped(usage_line(verb)));
  for (const std::string_view text : verb.description) {
    out += paragraph(text);
  }
  for (const Flag& flag : verb.positionals) {
    out += flag_entry(flag);
  }
  for (const std::string_view group : flag_groups(verb)) {
    out += fmt::format(".PP\n{}:\n", escaped(group));
    for (const Flag& flag : verb.flags) {
      out += flag.group == group ? flag_entry(flag) : std::string();
    }
  }
  return out;
}

std::string examples() {
  std::string out = ".SH EXAMPLES\n";
  for (const Verb& verb : verb_table()) {
    for (const Example& example : verb.hidden ? std::vector<Example>{} : verb.examples) {
      out += fmt::format(".PP\n{}:\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", escaped(example.purpose),
                         escaped(wrap_command(example.command, kExampleColumns, 4)));
    }
  }
  return out;
}

}  // namespace

std::string man_page(std::string_view version) {
  std::string name(kProgram);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out =
      fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", name, kProgram, escaped(version));
  out += fmt::format(".SH NAME\n{} \\- {}\n", kProgram, escaped(kProgramSummary));
  out += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n", kProgram);
  out += ".SH COMMANDS\n";
  for (const Verb& verb : verb_table()) {
    out += verb.hidden ? std::string() : verb_section(verb);
  }
  out += examples();
  out += ".SH EXIT STATUS\n";
  for (const ExitStatus& status : exit_statuses()) {
    out += fmt::format(".TP\n{}\n{}.\n", status.code, escaped(status.meaning));
  }
  return out;
}

}  // namespace mlxcel::cli
