// Tests: what stands behind `is`.
#include <algorithm>

#include "base/error.h"
#include "text/jinja_call.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_strings.h"

namespace mlxcel::text {
namespace {

template <Op op>
Value test_order(Runtime& rt, Arguments& a) {
  return compare_values(rt.budget, op, a[0], a[1]);
}

template <int64_t divisor, int64_t remainder>
Value test_remainder(Runtime& rt, Arguments& a) {
  return equal(rt.budget, binary(rt.budget, Op::kMod, a[0], divisor), remainder);
}

Value test_divisible(Runtime& rt, Arguments& a) {
  return equal(rt.budget, binary(rt.budget, Op::kMod, a[0], a[1]), int64_t{0});
}

bool is_sequence(const Value& value) {
  const auto* sequence = value.get<SequencePtr>();
  return value.text() != nullptr || value.is<DictPtr>() || value.is<Undefined>() ||
         (sequence != nullptr && (*sequence)->kind <= SequenceKind::kRange);
}

bool is_iterable(const Value& value) {
  return is_sequence(value) || value.is<SequencePtr>() || value.is<GeneratorPtr>() ||
         value.is<LoopPtr>();
}

// str.islower and str.isupper: some cased character, and none of the other case.
bool has_only_case(Budget& budget, const Text& text, Case wanted) {
  budget.scan(text.bytes.size());
  bool found = false;
  for (size_t at = 0; at < text.bytes.size(); at = next_code_point(text.bytes, at)) {
    const char32_t c = decode_code_point(text.bytes, at);
    if (!is_cased(c)) continue;
    if (wanted == Case::kLower ? !is_lower(c) : !is_upper(c)) return false;
    found = true;
  }
  return found;
}

constexpr Function kTests[] = {
    {"defined", "value", [](Runtime&, Arguments& a) -> Value { return !a[0].is<Undefined>(); }},
    {"undefined", "value", [](Runtime&, Arguments& a) -> Value { return a[0].is<Undefined>(); }},
    {"none", "value", [](Runtime&, Arguments& a) -> Value { return a[0].is<None>(); }},
    {"boolean", "value", [](Runtime&, Arguments& a) -> Value { return a[0].is<bool>(); }},
    {"true", "value",
     [](Runtime&, Arguments& a) -> Value { return a[0].is<bool>() && *a[0].get<bool>(); }},
    {"false", "value",
     [](Runtime&, Arguments& a) -> Value { return a[0].is<bool>() && !*a[0].get<bool>(); }},
    {"integer", "value", [](Runtime&, Arguments& a) -> Value { return a[0].is<int64_t>(); }},
    {"float", "value", [](Runtime&, Arguments& a) -> Value { return a[0].is<double>(); }},
    {"number", "value", [](Runtime&, Arguments& a) -> Value { return is_number(a[0]); }},
    {"string", "value", [](Runtime&, Arguments& a) -> Value { return a[0].text() != nullptr; }},
    {"mapping", "value", [](Runtime&, Arguments& a) -> Value { return a[0].is<DictPtr>(); }},
    {"sequence", "value", [](Runtime&, Arguments& a) -> Value { return is_sequence(a[0]); }},
    {"iterable", "value", [](Runtime&, Arguments& a) -> Value { return is_iterable(a[0]); }},
    {"callable", "obj",
     [](Runtime&, Arguments& a) -> Value {
       return a[0].is<CallablePtr>() || a[0].is<LoopPtr>() || a[0].is<Undefined>();
     }},
    {"sameas", "value other",
     [](Runtime&, Arguments& a) -> Value { return identical(a[0], a[1]); }},
    {"escaped", "value",
     [](Runtime&, Arguments& a) -> Value { return a[0].text() != nullptr && a[0].text()->markup; }},
    {"lower", "value",
     [](Runtime& rt, Arguments& a) -> Value {
       return has_only_case(rt.budget, *to_text(rt.budget, a[0]), Case::kLower);
     }},
    {"upper", "value",
     [](Runtime& rt, Arguments& a) -> Value {
       return has_only_case(rt.budget, *to_text(rt.budget, a[0]), Case::kUpper);
     }},
    {"odd", "value", test_remainder<2, 1>},
    {"even", "value", test_remainder<2, 0>},
    {"divisibleby", "value num", test_divisible},
    {"in", "value seq", test_order<Op::kIn>},
    {"filter", "value",
     [](Runtime&, Arguments& a) -> Value {
       return a[0].text() != nullptr && find_filter(a[0].text()->bytes) != nullptr;
     }},
    {"test", "value",
     [](Runtime&, Arguments& a) -> Value {
       return a[0].text() != nullptr && find_test(a[0].text()->bytes) != nullptr;
     }},
    {"==", "a b", test_order<Op::kEq>},
    {"eq", "a b", test_order<Op::kEq>},
    {"equalto", "a b", test_order<Op::kEq>},
    {"!=", "a b", test_order<Op::kNe>},
    {"ne", "a b", test_order<Op::kNe>},
    {">", "a b", test_order<Op::kGt>},
    {"gt", "a b", test_order<Op::kGt>},
    {"greaterthan", "a b", test_order<Op::kGt>},
    {">=", "a b", test_order<Op::kGe>},
    {"ge", "a b", test_order<Op::kGe>},
    {"<", "a b", test_order<Op::kLt>},
    {"lt", "a b", test_order<Op::kLt>},
    {"lessthan", "a b", test_order<Op::kLt>},
    {"<=", "a b", test_order<Op::kLe>},
    {"le", "a b", test_order<Op::kLe>},
};

}  // namespace

const Function* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const Function& f) { return f.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace mlxcel::text
