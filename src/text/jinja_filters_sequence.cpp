// Filters of sequences and mappings.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "text/jinja_call.h"
#include "text/jinja_format.h"
#include "text/jinja_loop.h"
#include "text/jinja_operators.h"
#include "text/jinja_select.h"
#include "text/jinja_strings.h"

namespace mlxcel::text {
namespace {

using base::bad_input;

Value filter_length(Runtime& rt, Arguments& a) {
  if (const auto* text = a[0].text()) rt.budget.scan(text->bytes.size());
  if (const auto* loop = a[0].get<LoopPtr>())
    return static_cast<int64_t>((*loop)->length().value_or(0));
  const auto size = length(a[0]);
  if (!size) throw bad_input("object of type '{}' has no len()", type_name(a[0]));
  return static_cast<int64_t>(*size);
}

Value filter_first(Runtime& rt, Arguments& a) {
  if (const auto* generator = a[0].get<GeneratorPtr>()) {
    if (auto item = (*generator)->draw()) return *item;
    return make_undefined("No first item, sequence was empty.");
  }
  if (const Text* text = a[0].text(); text != nullptr && !text->bytes.empty()) {
    return slice_text(rt.budget, *text, 0, next_code_point(text->bytes, 0));
  }
  auto items = iterate(rt.budget, a[0]);
  return items.empty() ? make_undefined("No first item, sequence was empty.")
                       : std::move(items.front());
}

Value filter_last(Runtime& rt, Arguments& a) {
  if (a[0].is<GeneratorPtr>()) throw bad_input("'{}' object is not reversible", type_name(a[0]));
  if (const Text* text = a[0].text(); text != nullptr && !text->bytes.empty()) {
    return slice_text(rt.budget, *text, previous_code_point(text->bytes, text->bytes.size()),
                      text->bytes.size());
  }
  auto items = iterate(rt.budget, a[0]);
  return items.empty() ? make_undefined("No last item, sequence was empty.")
                       : std::move(items.back());
}

Value filter_list(Runtime& rt, Arguments& a) {
  return make_list(rt.budget, iterate(rt.budget, a[0]));
}

Value filter_reverse(Runtime& rt, Arguments& a) {
  if (a[0].text() != nullptr) return get_slice(rt.budget, a[0], None{}, None{}, int64_t{-1});
  auto items = iterate(rt.budget, a[0]);
  std::reverse(items.begin(), items.end());
  const auto* sequence = a[0].get<SequencePtr>();
  if (a[0].is<GeneratorPtr>()) return make_list(rt.budget, std::move(items));
  const bool list = sequence != nullptr && (*sequence)->kind == SequenceKind::kList;
  return make_generator(rt.budget, std::move(items), list ? "list_reverseiterator" : "reversed");
}

Value filter_join(Runtime& rt, Arguments& a) {
  auto items = iterate(rt.budget, a[0]);
  if (a.has(2) && !a[2].is<None>()) {
    const AttributePath path(rt.budget, a[2]);
    for (Value& item : items) item = path.get(rt, item);
  }
  return join(rt.budget, *to_text(rt.budget, a.has(1) ? a[1] : Value(make_text(""))), items);
}

Value filter_items(Runtime& rt, Arguments& a) {
  return lazily(rt, [&](std::vector<Value>& pairs) {
    if (a[0].is<Undefined>()) return;
    const auto* dict = a[0].get<DictPtr>();
    if (dict == nullptr) throw bad_input("Can only get item pairs from a mapping.");
    for (const auto& [key, value] : (*dict)->entries()) {
      pairs.push_back(make_tuple(rt.budget, {key, value}));
    }
  });
}

Value fold_case(Runtime& rt, const Value& value) {
  return value.text() != nullptr ? Value(convert_case(rt.budget, *value.text(), Case::kLower))
                                 : value;
}

struct Keyed {
  Value key;
  Value item;
};

// Python's sorted(): a stable merge sort, which no answer of a comparison can lead astray.
void sort_keyed(Runtime& rt, std::vector<Keyed>& items, bool reverse) {
  if (reverse) std::reverse(items.begin(), items.end());
  rt.budget.allocate(items.size(), sizeof(Keyed));
  std::vector<Keyed> other(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, items.size());
      const size_t end = std::min(begin + 2 * width, items.size());
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        const bool take_right =
            left == middle ||
            (right < end && compare_values(rt.budget, Op::kLt, items[right].key, items[left].key));
        other[out] = std::move(items[take_right ? right++ : left++]);
      }
    }
    items.swap(other);
  }
  if (reverse) std::reverse(items.begin(), items.end());
}

Value filter_sort(Runtime& rt, Arguments& a) {
  const bool case_sensitive = a.flag_or(2, false);
  // "age,name" sorts by several attributes.
  std::vector<AttributePath> paths;
  if (a.has(3) && a[3].text() != nullptr) {
    const Text comma = *make_text(",");
    for (const Value& part : split(rt.budget, *a[3].text(), &comma, -1, Side::kLeft))
      paths.emplace_back(rt.budget, part);
  } else {
    paths.emplace_back(rt.budget, a.has(3) ? a[3] : Value(None{}));
  }
  std::vector<Keyed> keyed;
  for (Value& item : iterate(rt.budget, a[0])) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths) {
      Value key = path.get(rt, item);
      keys.push_back(case_sensitive ? key : fold_case(rt, key));
    }
    keyed.push_back({make_list(rt.budget, std::move(keys)), std::move(item)});
  }
  sort_keyed(rt, keyed, a.flag_or(1, false));
  std::vector<Value> sorted;
  for (Keyed& entry : keyed) sorted.push_back(std::move(entry.item));
  return make_list(rt.budget, std::move(sorted));
}

Value filter_dictsort(Runtime& rt, Arguments& a) {
  const auto* dict = a[0].get<DictPtr>();
  if (dict == nullptr) {
    if (a[0].is<Undefined>()) throw_undefined(a[0]);
    throw bad_input("dictsort: expected a mapping, found '{}'", type_name(a[0]));
  }
  const std::string by = a.has(2) ? a.text(2).bytes : "key";
  if (by != "key" && by != "value")
    throw bad_input("You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : (*dict)->entries()) {
    const Value& wanted = by == "key" ? key : value;
    keyed.push_back({a.flag_or(1, false) ? wanted : fold_case(rt, wanted),
                     make_tuple(rt.budget, {key, value})});
  }
  sort_keyed(rt, keyed, a.flag_or(3, false));
  std::vector<Value> sorted;
  for (Keyed& entry : keyed) sorted.push_back(std::move(entry.item));
  return make_list(rt.budget, std::move(sorted));
}

Value filter_unique(Runtime& rt, Arguments& a) {
  return lazily(rt, [&](std::vector<Value>& kept) {
    const bool case_sensitive = a.flag_or(1, false);
    const AttributePath path(rt.budget, a.has(2) ? a[2] : Value(None{}));
    const auto before = [&](const Value& x, const Value& y) {
      return compare_keys(rt.budget, x, y) < 0;
    };
    std::set<Value, decltype(before)> seen(before);
    for (Value& item : iterate(rt.budget, a[0])) {
      Value key = path.get(rt, item);
      if (!case_sensitive) key = fold_case(rt, key);
      require_hashable(rt.budget, key);
      if (seen.insert(key).second) kept.push_back(std::move(item));
    }
  });
}

Value extreme(Runtime& rt, Arguments& a, Op better) {
  const AttributePath path(rt.budget, a.has(2) ? a[2] : Value(None{}));
  Value best;
  Value best_key;
  for (Value& item : iterate(rt.budget, a[0])) {
    Value key = path.get(rt, item);
    if (!a.flag_or(1, false)) key = fold_case(rt, key);
    if (best.is<Missing>() || compare_values(rt.budget, better, key, best_key)) {
      best = std::move(item);
      best_key = std::move(key);
    }
  }
  return best.is<Missing>() ? make_undefined("No aggregated item, sequence was empty.") : best;
}

Value filter_sum(Runtime& rt, Arguments& a) {
  const AttributePath path(rt.budget, a.has(1) ? a[1] : Value(None{}));
  Value total = a.has(2) ? a[2] : Value(int64_t{0});
  if (total.text() != nullptr) throw bad_input("sum() can't sum strings");
  for (const Value& item : iterate(rt.budget, a[0]))
    total = binary(rt.budget, Op::kAdd, total, path.get(rt, item));
  return total;
}

Value filter_batch(Runtime& rt, Arguments& a) {
  return lazily(rt, [&](std::vector<Value>& rows) {
    const int64_t size = a.integer(1);
    const bool fills = a.has(2) && !a[2].is<None>();
    std::vector<Value> row;
    const auto flush = [&] {
      rows.push_back(make_list(rt.budget, std::move(row)));
      row.clear();
    };
    for (Value& item : iterate(rt.budget, a[0])) {
      if (static_cast<int64_t>(row.size()) == size) flush();
      row.push_back(std::move(item));
    }
    if (row.empty()) return;
    if (fills && size > static_cast<int64_t>(row.size())) {
      rt.budget.allocate(static_cast<uint64_t>(size), sizeof(Value));
      row.resize(static_cast<size_t>(size), a[2]);
    }
    flush();
  });
}

Value filter_slice(Runtime& rt, Arguments& a) {
  return lazily(rt, [&](std::vector<Value>& slices) {
    const auto items = iterate(rt.budget, a[0]);
    const int64_t count = a.integer(1);
    if (count == 0) throw bad_input("integer division or modulo by zero");
    if (count < 0) return;
    rt.budget.allocate(static_cast<uint64_t>(count), 2 * sizeof(Value));
    const auto total = static_cast<int64_t>(items.size());
    const int64_t each = total / count;
    const int64_t extra = total % count;
    auto at = items.begin();
    for (int64_t i = 0; i < count; ++i) {
      const auto end = at + each + (i < extra ? 1 : 0);
      std::vector<Value> slice(at, end);
      if (a.has(2) && !a[2].is<None>() && i >= extra) slice.push_back(a[2]);
      slices.push_back(make_list(rt.budget, std::move(slice)));
      at = end;
    }
  });
}

constexpr Function kFilters[] = {
    {"length", "object", filter_length},
    {"count", "object", filter_length},
    {"first", "seq", filter_first},
    {"last", "seq", filter_last},
    {"list", "value", filter_list},
    {"reverse", "value", filter_reverse},
    {"join", "value d? attribute?", filter_join},
    {"items", "value", filter_items},
    {"sort", "value reverse? case_sensitive? attribute?", filter_sort},
    {"dictsort", "value case_sensitive? by? reverse?", filter_dictsort},
    {"unique", "value case_sensitive? attribute?", filter_unique},
    {"min", "value case_sensitive? attribute?",
     [](Runtime& rt, Arguments& a) { return extreme(rt, a, Op::kLt); }},
    {"max", "value case_sensitive? attribute?",
     [](Runtime& rt, Arguments& a) { return extreme(rt, a, Op::kGt); }},
    {"sum", "iterable attribute? start?", filter_sum},
    {"batch", "value linecount fill_with?", filter_batch},
    {"slice", "value slices fill_with?", filter_slice},
};

}  // namespace

Rows<Function> sequence_filters() { return {kFilters, std::size(kFilters)}; }

}  // namespace mlxcel::text
