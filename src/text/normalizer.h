// Unicode normalisation as a tokenizer file asks for it, linear in the text whatever the text is,
// and keeping track of which bytes the user wrote.
#pragma once

#include <vector>

#include "base/json.h"
#include "text/literal_spans.h"

namespace mlxcel::text {

class Normalizer {
 public:
  enum class Form { kNfc, kNfd, kNfkc, kNfkd };

  Normalizer() = default;
  explicit Normalizer(std::vector<Form> forms) : forms_(std::move(forms)) {}
  // The "normalizer" of a tokenizer.json: NFC, NFD, NFKC, NFKD or a Sequence of them. Throws
  // kUnsupported for any other type, by its name.
  static Normalizer parse(const base::JsonField& field);

  // Valid UTF-8 in, valid UTF-8 out (UAX #15 with the Unicode data of
  // utf8proc; the reference's data is older, which shows only in characters that it does not know
  // yet). Where characters are composed or reordered across the edge of a literal range, everything
  // they became is literal.
  MarkedText apply(MarkedText input) const;
  bool changes_nothing() const { return forms_.empty(); }

 private:
  std::vector<Form> forms_;
};

}  // namespace mlxcel::text
