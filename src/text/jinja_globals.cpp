// Methods of containers and of the loop variable, and the global functions.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/jinja_call.h"
#include "text/jinja_format.h"
#include "text/jinja_loop.h"
#include "text/jinja_operators.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::unsupported;

Value list_index(Runtime& rt, Arguments& a) {
  const auto& items = (*a[0].get<SequencePtr>())->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal(rt.budget, items[i], a[1])) return static_cast<int64_t>(i);
  }
  throw bad_input("{}: the value is not in the sequence", a.function());
}

Value list_count(Runtime& rt, Arguments& a) {
  const auto& items = (*a[0].get<SequencePtr>())->items;
  return static_cast<int64_t>(std::count_if(
      items.begin(), items.end(), [&](const Value& item) { return equal(rt.budget, item, a[1]); }));
}

Value copy_of(Runtime&, Arguments& a) {
  return a[0];
}  // nothing can tell a copy of an immutable value

Value dict_get(Runtime& rt, Arguments& a) {
  const Value* found = (*a[0].get<DictPtr>())->find(rt.budget, a[1]);
  if (found != nullptr) return *found;
  return a.has(2) ? a[2] : Value(None{});
}

template <SequenceKind kind>
Value dict_view(Runtime& rt, Arguments& a) {
  std::vector<Value> items;
  for (const auto& [key, value] : (*a[0].get<DictPtr>())->entries()) {
    if (kind == SequenceKind::kDictKeys)
      items.push_back(key);
    else if (kind == SequenceKind::kDictValues)
      items.push_back(value);
    else
      items.push_back(make_tuple(rt.budget, {key, value}));
  }
  return make_sequence(rt.budget, kind, std::move(items));
}

Value loop_cycle(Runtime&, Arguments& a) {
  const auto& given = a.raw().positional;
  if (given.size() < 2) throw bad_input("no items for cycling given");
  const int64_t index = (*given[0].get<LoopPtr>())->index0;
  return given[1 + static_cast<size_t>(std::max<int64_t>(index, 0)) % (given.size() - 1)];
}

Value loop_changed(Runtime& rt, Arguments& a) {
  const auto& given = a.raw().positional;
  Value now = make_tuple(rt.budget, {given.begin() + 1, given.end()});
  return (*given[0].get<LoopPtr>())->changed(rt.budget, std::move(now));
}

constexpr Function kMethods[] = {
    {"list.index", "self value", list_index},
    {"list.count", "self value", list_count},
    {"list.copy", "self", copy_of},
    {"tuple.index", "self value", list_index},
    {"tuple.count", "self value", list_count},
    {"range.index", "self value", list_index},
    {"range.count", "self value", list_count},
    {"dict.get", "self key default?", dict_get},
    {"dict.keys", "self", dict_view<SequenceKind::kDictKeys>},
    {"dict.values", "self", dict_view<SequenceKind::kDictValues>},
    {"dict.items", "self", dict_view<SequenceKind::kDictItems>},
    {"dict.copy", "self", copy_of},
    {"loop.cycle", "*", loop_cycle},
    {"loop.changed", "*", loop_changed},
};

// The entries of dict(...): pairs or a mapping, then keywords.
std::vector<Dict::Entry> dict_entries(Runtime& rt, CallArguments& given,
                                      std::string_view function) {
  std::vector<Dict::Entry> entries;
  if (given.positional.size() > 1)
    throw bad_input("{} expected at most 1 argument, got {}", function, given.positional.size());
  if (given.positional.size() == 1) {
    const Value& source = given.positional[0];
    if (const auto* dict = source.get<DictPtr>()) {
      rt.budget.allocate((*dict)->entries().size(), sizeof(Dict::Entry));
      entries = (*dict)->entries();
    } else {
      for (const Value& item : iterate(rt.budget, source)) {
        auto pair = iterate(rt.budget, item);
        if (pair.size() != 2)
          throw bad_input("dictionary update sequence element has length {}; 2 is required",
                          pair.size());
        entries.emplace_back(std::move(pair[0]), std::move(pair[1]));
      }
    }
  }
  for (auto& [name, value] : given.named) entries.emplace_back(Value(name), std::move(value));
  return entries;
}

Value global_dict(Runtime& rt, Arguments& a) {
  return Dict::build(rt.budget, dict_entries(rt, a.raw(), "dict"));
}

Value global_namespace(Runtime& rt, Arguments& a) {
  auto names = std::make_shared<Namespace>();
  const DictPtr attributes = Dict::build(rt.budget, dict_entries(rt, a.raw(), "namespace"));
  for (const auto& [key, value] : attributes->entries()) {
    const auto* name = key.get<TextPtr>();
    if (name == nullptr) throw unsupported("namespace: an attribute name that is not a string");
    if ((*name)->bytes.starts_with('_')) {
      throw bad_input("namespace: the attribute '{}' begins with an underscore",
                      (*name)->bytes.substr(0, 60));
    }
    names->set(*name, value);
  }
  rt.budget.allocate(sizeof(Namespace) + attributes->entries().size() * 2 * sizeof(Dict::Entry));
  rt.namespaces.push_back(names);
  return names;
}

Value global_range(Runtime& rt, Arguments& a) {
  const int64_t first = a.integer(0);
  if (!a.has(1)) return make_range(rt.budget, 0, first, 1);
  return make_range(rt.budget, first, a.integer(1), a.integer_or(2, 1));
}

Value global_raise(Runtime& rt, Arguments& a) {
  std::string message = to_text(rt.budget, a[0])->bytes;
  constexpr size_t kShown = 500;
  if (message.size() > kShown) message.resize(byte_of_code_point(message, kShown / 4));
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<uint8_t>(c) < 0x20; }, ' ');
  throw bad_input("{}", message);
}

// A number with at least `width` digits; with '-' before the directive, without the fill.
std::string padded(int number, int width, char flag, char fill = '0') {
  if (flag == '-') return fmt::format("{}", number);
  std::string digits = fmt::format("{}", number);
  if (static_cast<int>(digits.size()) < width)
    digits.insert(0, static_cast<size_t>(width) - digits.size(), fill);
  return digits;
}

std::string time_field(char directive, char flag, const std::tm& time) {
  constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                     "Thursday", "Friday", "Saturday"};
  constexpr std::array<std::string_view, 12> kMonths = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  const std::string_view day = kDays[static_cast<size_t>(time.tm_wday) % 7];
  const std::string_view month = kMonths[static_cast<size_t>(time.tm_mon) % 12];
  const int hour = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
  switch (directive) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'd':
      return padded(time.tm_mday, 2, flag);
    case 'e':
      return padded(time.tm_mday, 2, flag, ' ');
    case 'm':
      return padded(time.tm_mon + 1, 2, flag);
    case 'y':
      return padded(time.tm_year % 100, 2, flag);
    case 'Y':
      return fmt::format("{}", time.tm_year + 1900);
    case 'H':
      return padded(time.tm_hour, 2, flag);
    case 'I':
      return padded(hour, 2, flag);
    case 'M':
      return padded(time.tm_min, 2, flag);
    case 'S':
      return padded(time.tm_sec, 2, flag);
    case 'p':
      return time.tm_hour < 12 ? "AM" : "PM";
    case 'j':
      return padded(time.tm_yday + 1, 3, flag);
    case 'w':
      return fmt::format("{}", time.tm_wday);
    case 'u':
      return fmt::format("{}", time.tm_wday == 0 ? 7 : time.tm_wday);
    case 'F':
      return fmt::format("{}-{:02}-{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday);
    case 'T':
      return fmt::format("{:02}:{:02}:{:02}", time.tm_hour, time.tm_min, time.tm_sec);
    case 'R':
      return fmt::format("{:02}:{:02}", time.tm_hour, time.tm_min);
    case 'D':
    case 'x':
      return fmt::format("{:02}/{:02}/{:02}", time.tm_mon + 1, time.tm_mday, time.tm_year % 100);
    case 'X':
      return time_field('T', 0, time);
    case 'c':
      return fmt::format("{} {} {:2} {:02}:{:02}:{:02} {}", day.substr(0, 3), month.substr(0, 3),
                         time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, time.tm_year + 1900);
    case 'Z':
    case 'z':
      return "";  // datetime.now() has no zone
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      throw unsupported("strftime_now: the directive %{}",
                        (static_cast<uint8_t>(directive) & 0x80U) != 0 ? '?' : directive);
  }
}

Value global_strftime(Runtime& rt, Arguments& a) {
  const Text& format = a.text(0);
  const std::tm time = rt.clock();
  TextBuilder out(rt.budget);
  for (size_t at = 0; at < format.bytes.size();) {
    const size_t percent = std::min(format.bytes.find('%', at), format.bytes.size());
    out.append(format, at, percent);
    if (percent + 1 >= format.bytes.size()) {
      out.append(format, percent, format.bytes.size());
      break;
    }
    char flag = format.bytes[percent + 1];
    if (flag != '-' || percent + 2 >= format.bytes.size()) flag = 0;
    at = percent + (flag == 0 ? 2 : 3);
    out.append(time_field(format.bytes[at - 1], flag, time), format.origin_at(percent));
  }
  return out.finish();
}

Value no_such_global(Runtime&, Arguments& a) {
  throw unsupported("the function '{}' is not supported in chat templates", a.function());
}

constexpr Function kGlobals[] = {
    {"range", "start stop? step?", global_range},
    {"dict", "*", global_dict},
    {"namespace", "*", global_namespace},
    {"raise_exception", "message", global_raise},
    {"strftime_now", "format", global_strftime},
    {"lipsum", "*", no_such_global},
    {"cycler", "*", no_such_global},
    {"joiner", "*", no_such_global},
};

}  // namespace

Rows<Function> container_methods() { return {kMethods, std::size(kMethods)}; }

const Function* find_global(std::string_view name) {
  const auto* found = std::find_if(std::begin(kGlobals), std::end(kGlobals),
                                   [&](const Function& f) { return f.name == name; });
  return found == std::end(kGlobals) ? nullptr : found;
}

}  // namespace mlxcel::text
