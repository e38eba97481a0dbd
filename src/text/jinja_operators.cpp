#include "text/jinja_operators.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja_format.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::resource_error;

constexpr std::string_view kSymbols[] = {"+",  "-",  "*", "/",  "//", "%",  "**", "+",     "-",
                                         "==", "!=", "<", "<=", ">",  ">=", "in", "not in"};

[[noreturn]] void overflow() { throw resource_error("an integer does not fit in 64 bits"); }

int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1 && a == std::numeric_limits<int64_t>::min()) overflow();
  const int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

double float_mod(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double float_floor_div(double a, double b) {
  const double rest = float_mod(a, b);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

Value int_pow(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t square = base; exponent > 0;) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, square, &result)) overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(square, square, &square)) overflow();
  }
  return result;
}

Value int_binary(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(a, b, &result)) overflow();
      return result;
    case Op::kSub:
      if (__builtin_sub_overflow(a, b, &result)) overflow();
      return result;
    case Op::kMul:
      if (__builtin_mul_overflow(a, b, &result)) overflow();
      return result;
    default:
      break;
  }
  if (op == Op::kPow) {
    if (b >= 0) return int_pow(a, b);
    if (a == 0) throw bad_input("0.0 cannot be raised to a negative power");
    return std::pow(static_cast<double>(a), static_cast<double>(b));
  }
  if (b == 0 && op == Op::kDiv) throw bad_input("division by zero");
  if (b == 0) throw bad_input("integer division or modulo by zero");
  if (op == Op::kDiv) return static_cast<double>(a) / static_cast<double>(b);
  return op == Op::kFloorDiv ? floor_div(a, b) : floor_mod(a, b);
}

Value float_binary(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    default:
      break;
  }
  if (op == Op::kPow) {
    if (a == 0 && b < 0) throw bad_input("0.0 cannot be raised to a negative power");
    if (a < 0 && std::isfinite(b) && b != std::floor(b)) throw base::unsupported("complex numbers");
    const double result = std::pow(a, b);
    if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
      throw bad_input("numerical result out of range");
    return result;
  }
  if (b == 0) throw bad_input("float division by zero");
  if (op == Op::kDiv) return a / b;
  return op == Op::kFloorDiv ? float_floor_div(a, b) : float_mod(a, b);
}

TextPtr concatenate(Budget& budget, const TextPtr& a, const TextPtr& b) {
  const bool markup = a->markup || b->markup;
  TextBuilder out(budget);
  out.append(markup && !a->markup ? *escape_html(budget, *a) : *a);
  out.append(markup && !b->markup ? *escape_html(budget, *b) : *b);
  Text text = out.take();
  text.markup = markup;
  return std::make_shared<const Text>(std::move(text));
}

const Sequence* plain_sequence(const Value& value) {
  const auto* sequence = value.get<SequencePtr>();
  return sequence != nullptr && (*sequence)->kind <= SequenceKind::kTuple ? sequence->get()
                                                                          : nullptr;
}

Value repeat(Budget& budget, const Value& value, int64_t times) {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (const Text* text = value.text()) {
    // Checked before anything grows: the product may not even fit in 64 bits.
    if (!text->bytes.empty() && count > budget.limits().bytes / text->bytes.size()) {
      throw resource_error("the template makes more than {} bytes of values",
                           budget.limits().bytes);
    }
    TextBuilder out(budget);
    if (!text->bytes.empty()) {
      for (uint64_t i = 0; i < count; ++i) out.append(*text);
    }
    Text result = out.take();
    result.markup = text->markup;
    return std::make_shared<const Text>(std::move(result));
  }
  const Sequence& sequence = *plain_sequence(value);
  std::vector<Value> items;
  if (!sequence.items.empty() && count > 0) {
    budget.allocate(count, sequence.items.size() * sizeof(Value));
    items.reserve(count * sequence.items.size());
    for (uint64_t i = 0; i < count; ++i) {
      items.insert(items.end(), sequence.items.begin(), sequence.items.end());
    }
  }
  return make_sequence(budget, sequence.kind, std::move(items));
}

std::optional<Value> sequence_binary(Budget& budget, Op op, const Value& a, const Value& b) {
  if (op == Op::kAdd) {
    if (a.text() != nullptr && b.text() != nullptr) {
      return concatenate(budget, *a.get<TextPtr>(), *b.get<TextPtr>());
    }
    const Sequence* left = plain_sequence(a);
    const Sequence* right = plain_sequence(b);
    if (left != nullptr && right != nullptr && left->kind == right->kind) {
      budget.allocate(left->items.size() + right->items.size(), sizeof(Value));
      std::vector<Value> items = left->items;
      items.insert(items.end(), right->items.begin(), right->items.end());
      return make_sequence(budget, left->kind, std::move(items));
    }
    if (a.text() != nullptr)
      throw bad_input("can only concatenate str (not \"{}\") to str", type_name(b));
  }
  if (op == Op::kMul) {
    const auto repeatable = [](const Value& v) {
      return v.text() != nullptr || plain_sequence(v) != nullptr;
    };
    if (repeatable(a) && as_int(b)) return repeat(budget, a, *as_int(b));
    if (repeatable(b) && as_int(a)) return repeat(budget, b, *as_int(a));
  }
  return std::nullopt;
}

}  // namespace

void throw_undefined(const Value& value) {
  throw bad_input("{}", *value.get<Undefined>()->message);
}

Value unary(const Value& value, Op op) {
  if (const auto number = as_int(value)) {
    if (op == Op::kPlus) return *number;
    if (*number == std::numeric_limits<int64_t>::min()) overflow();
    return -*number;
  }
  if (const auto* real = value.get<double>()) return op == Op::kPlus ? *real : -*real;
  if (value.is<Undefined>()) throw_undefined(value);
  throw bad_input("bad operand type for unary {}: '{}'", op == Op::kPlus ? "+" : "-",
                  type_name(value));
}

Value binary(Budget& budget, Op op, const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    if (!a.is<double>() && !b.is<double>()) return int_binary(op, *as_int(a), *as_int(b));
    return float_binary(op, *as_double(a), *as_double(b));
  }
  if (op == Op::kMod && a.text() != nullptr) return format_percent(budget, *a.text(), b);
  if (a.is<Undefined>()) throw_undefined(a);
  if (b.is<Undefined>()) throw_undefined(b);
  if (auto result = sequence_binary(budget, op, a, b)) return *result;
  throw bad_input("unsupported operand type(s) for {}: '{}' and '{}'",
                  kSymbols[static_cast<size_t>(op)], type_name(a), type_name(b));
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  if (const Text* text = container.text()) {
    if (item.text() == nullptr) {
      if (item.is<Undefined>())
        throw bad_input("'in <string>' requires a string, found an undefined value: {}",
                        *item.get<Undefined>()->message);
      throw bad_input("'in <string>' requires string as left operand, not {}", type_name(item));
    }
    return find_bytes(budget, text->bytes, item.text()->bytes) != std::string::npos;
  }
  if (const auto* dict = container.get<DictPtr>()) return (*dict)->find(budget, item) != nullptr;
  if (const auto* sequence = container.get<SequencePtr>()) {
    return std::any_of((*sequence)->items.begin(), (*sequence)->items.end(),
                       [&](const Value& held) { return equal(budget, held, item); });
  }
  if (const auto* generator = container.get<GeneratorPtr>()) {
    while (const auto held = (*generator)->draw()) {
      if (equal(budget, *held, item)) return true;
    }
    return false;
  }
  if (container.is<Undefined>()) return false;
  throw bad_input("argument of type '{}' is not iterable", type_name(container));
}

bool compare_values(Budget& budget, Op op, const Value& a, const Value& b) {
  if (op == Op::kEq) return equal(budget, a, b);
  if (op == Op::kNe) return !equal(budget, a, b);
  if (op == Op::kIn) return contains(budget, b, a);
  if (op == Op::kNotIn) return !contains(budget, b, a);
  const auto order = compare(budget, a, b, kSymbols[static_cast<size_t>(op)]);
  if (!order) return false;
  switch (op) {
    case Op::kLt:
      return *order < 0;
    case Op::kLe:
      return *order <= 0;
    case Op::kGt:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

}  // namespace mlxcel::text
