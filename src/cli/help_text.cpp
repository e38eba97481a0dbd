// Layout of help: two aligned columns inside kHelpColumns, whatever the table contains.
#include "cli/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace mlxcel::cli {
namespace {

constexpr size_t kMargin = 2;
constexpr size_t kWidestLeft = 28;  // a longer left entry gets a line of its own

size_t columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string new_line(size_t indent) { return fmt::format("\n{:{}}", "", indent); }

struct Row {
  std::string left;
  std::string right;
};

size_t left_width(const std::vector<Row>& rows) {
  size_t widest = 0;
  for (const Row& row : rows) {
    widest = std::max(widest, std::min(columns(row.left), kWidestLeft));
  }
  return widest;
}

Row flag_row(const Flag& flag) { return {flag_synopsis(flag), flag_description(flag)}; }

// "  left    right, wrapped
//            and aligned"
std::string two_columns(const std::vector<Row>& rows, size_t left_width) {
  const size_t indent = kMargin + left_width + kMargin;
  std::string out;
  for (const Row& row : rows) {
    out += std::string(kMargin, ' ') + row.left;
    const size_t used = kMargin + columns(row.left);
    out += used + kMargin > indent ? new_line(indent) : std::string(indent - used, ' ');
    out += wrap(row.right, kHelpColumns - indent, indent) + "\n";
  }
  return out;
}

}  // namespace

std::string wrap(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) {
      break;
    }
    const size_t end = std::min(text.size(), text.find(' ', begin));
    const std::string_view word = text.substr(begin, end - begin);
    if (used > 0 && used + 1 + columns(word) > width) {
      out += new_line(indent);
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += columns(word);
    at = end;
  }
  return out;
}

std::string wrap_command(std::string_view command, size_t width, size_t indent) {
  constexpr std::string_view kContinued = " \\\n";
  std::string out;
  std::string line;
  char quote = 0;
  size_t begin = 0;  // of a flag with its value: lines break only in front of flags
  const auto take = [&](size_t end) {
    const std::string_view piece = command.substr(begin, end - begin);
    if (!line.empty() && columns(line) + columns(piece) + kContinued.size() - 1 > width) {
      out += line + std::string(kContinued);
      line = std::string(indent, ' ') + std::string(piece.substr(1));
    } else {
      line += piece;
    }
    begin = end;
  };
  for (size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (at > begin && command.substr(at).starts_with(" -")) {
      take(at);
    }
  }
  take(command.size());
  return out + line;
}

std::string flag_synopsis(const Flag& flag) {
  if (!flag.name.starts_with('-')) {
    return std::string(flag.name);
  }
  std::string out =
      flag.short_name.empty() ? std::string(4, ' ') : fmt::format("{}, ", flag.short_name);
  out += flag.name;
  return flag.is_switch() ? out : fmt::format("{} {}", out, flag.placeholder);
}

std::string flag_description(const Flag& flag) {
  std::vector<std::string> notes;
  if (!flag.choices().empty()) {
    notes.push_back(fmt::format("{}", fmt::join(flag.choices(), ", ")));
  }
  if (!flag.default_text.empty()) {
    notes.push_back(fmt::format("default {}", flag.default_text));
  }
  if (flag.required) {
    notes.push_back("required");
  }
  if (flag.repeatable) {
    notes.push_back("may be repeated");
  }
  return notes.empty() ? std::string(flag.help)
                       : fmt::format("{} ({})", flag.help, fmt::join(notes, "; "));
}

std::string usage_line(const Verb& verb) {
  std::string out = fmt::format("{} {}", kProgram, verb.name);
  for (const Flag& flag : verb.flags) {
    if (flag.required) {
      out += fmt::format(" {} {}", flag.short_name.empty() ? flag.name : flag.short_name,
                         flag.placeholder);
    }
  }
  for (const Flag& flag : verb.positionals) {
    out += flag.required ? fmt::format(" {}", flag.name) : fmt::format(" [{}]", flag.name);
  }
  return verb.flags.size() > 1 ? out + " [FLAGS]" : out;  // --help alone is not worth a word
}

std::string program_help() {
  const std::vector<Row> flags = {{"-h, --help", "Show this help"},
                                  {"-V, --version", "Print the version"}};
  std::vector<Row> verbs;
  for (const Verb& verb : verb_table()) {
    if (!verb.hidden) {
      verbs.push_back({std::string(verb.name), std::string(verb.summary)});
    }
  }
  std::vector<Row> statuses;
  for (const ExitStatus& status : exit_statuses()) {
    statuses.push_back({fmt::format("{}", status.code), std::string(status.meaning)});
  }
  const size_t width = std::max(left_width(verbs), left_width(flags));
  return fmt::format(
      "{0}: {1}\n\nUsage:\n  {0} COMMAND [FLAGS]\n\nCommands:\n{2}\nFlags:\n{3}\n"
      "Exit status:\n{4}\n'{0} COMMAND --help' explains a command and shows examples.\n",
      kProgram, kProgramSummary, two_columns(verbs, width), two_columns(flags, width),
      two_columns(statuses, width));
}

std::string verb_help(const Verb& verb) {
  std::string out = fmt::format("{}.\n", verb.summary);
  out += fmt::format("\nUsage:\n  {}\n", wrap(usage_line(verb), kHelpColumns - kMargin, 6));
  for (const std::string_view paragraph : verb.description) {
    out += fmt::format("\n{}\n", wrap(paragraph, kHelpColumns, 0));
  }
  // All groups are aligned alike.
  std::vector<Row> positionals;
  std::transform(verb.positionals.begin(), verb.positionals.end(), std::back_inserter(positionals),
                 flag_row);
  std::vector<Row> all = positionals;
  std::transform(verb.flags.begin(), verb.flags.end(), std::back_inserter(all), flag_row);
  const size_t width = left_width(all);
  if (!positionals.empty()) {
    out += fmt::format("\nArguments:\n{}", two_columns(positionals, width));
  }
  for (const std::string_view group : flag_groups(verb)) {
    out += fmt::format("\n{}:\n", group);
    for (const Flag& flag : verb.flags) {
      if (flag.group == group) {
        out += two_columns({flag_row(flag)}, width);
      }
    }
  }
  if (!verb.examples.empty()) {
    out += "\nExamples:\n";
    for (const Example& example : verb.examples) {
      out += fmt::format("  # {}\n  {}\n", example.purpose,
                         wrap_command(example.command, kHelpColumns - kMargin, 6));
    }
  }
  return out;
}

}  // namespace mlxcel::cli
