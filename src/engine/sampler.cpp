#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "kernels/kernels.h"

namespace mlxcel::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void check_range(std::string_view name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw base::bad_input("{} is {}, expected a number from {} to {}", name, value, low, high);
  }
}

struct Candidate {
  int32_t id;
  float logit;
  double probability;
};

// More likely first; equal ones in the order of their ids, so that a seed always means the same.
bool more_likely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

void set_probabilities(std::vector<Candidate>& candidates) {
  double sum = 0;
  for (Candidate& c : candidates) {
    c.probability =
        std::exp(static_cast<double>(c.logit) - static_cast<double>(candidates.front().logit));
    sum += c.probability;
  }
  for (Candidate& c : candidates) c.probability /= sum;
}

void keep_top_p(std::vector<Candidate>& candidates, double top_p) {
  double sum = 0;
  size_t kept = 0;
  while (kept < candidates.size() && sum < top_p) sum += candidates[kept++].probability;
  candidates.resize(std::max<size_t>(kept, 1));
}

}  // namespace

void check_sampling(const SamplingParams& p) {
  check_range("temperature", p.temperature, 0, 100);
  check_range("top-p", p.top_p, 1e-9, 1);
  check_range("top-k", static_cast<double>(p.top_k), 0, 1e9);
  check_range("min-p", p.min_p, 0, 1);
  check_range("repetition penalty", p.repetition_penalty, 1e-3, 100);
  check_range("frequency penalty", p.frequency_penalty, -100, 100);
  check_range("presence penalty", p.presence_penalty, -100, 100);
}

Sampler::Sampler(const SamplingParams& params, std::vector<int32_t> suppressed,
                 std::span<const int32_t> prompt)
    : params_(params),
      suppressed_(std::move(suppressed)),
      random_(params.seed ? *params.seed : std::random_device()()) {
  for (const int32_t id : prompt) seen_[id].in_prompt = true;
}

void Sampler::adjust(std::vector<float>& logits) const {
  const auto count = static_cast<int32_t>(logits.size());
  for (const int32_t id : suppressed_) {
    if (id >= 0 && id < count) logits[static_cast<size_t>(id)] = kNever;
  }
  const auto repetition = static_cast<float>(params_.repetition_penalty);
  for (const auto& [id, seen] : seen_) {
    if (id < 0 || id >= count) continue;
    float& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / repetition : logit * repetition;
    if (seen.in_answer > 0) {
      logit -= static_cast<float>(params_.frequency_penalty * static_cast<double>(seen.in_answer) +
                                  params_.presence_penalty);
    }
  }
}

int32_t Sampler::draw(const std::vector<float>& logits) {
  std::vector<Candidate> candidates;
  candidates.reserve(logits.size());
  const auto inverse = static_cast<float>(1.0 / params_.temperature);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kNever) candidates.push_back({static_cast<int32_t>(i), logits[i] * inverse, 0});
  }
  const auto limit = params_.top_k > 0
                         ? std::min(candidates.size(), static_cast<size_t>(params_.top_k))
                         : candidates.size();
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(limit),
                    candidates.end(), more_likely);
  candidates.resize(limit);
  set_probabilities(candidates);
  if (params_.top_p < 1) keep_top_p(candidates, params_.top_p);
  const double floor = params_.min_p * candidates.front().probability;
  std::erase_if(candidates, [floor](const Candidate& c) { return c.probability < floor; });

  double total = 0;
  for (const Candidate& c : candidates) total += c.probability;
  // 53 random bits: the same sequence on every platform, which std::uniform_real_distribution is
  // not.
  double target = static_cast<double>(random_() >> 11) * 0x1.0p-53 * total;
  for (const Candidate& c : candidates) {
    if (target < c.probability) return c.id;
    target -= c.probability;
  }
  return candidates.back().id;
}

int32_t Sampler::next(std::span<const float> row) {
  std::vector<float> logits(row.begin(), row.end());
  adjust(logits);
  const auto best =
      static_cast<size_t>(kernels::argmax(logits.data(), static_cast<int64_t>(logits.size())));
  if (!std::isfinite(logits[best])) throw base::internal_error("the model's logits are not finite");
  const int32_t id = params_.temperature == 0 ? static_cast<int32_t>(best) : draw(logits);
  ++seen_[id].in_answer;
  return id;
}

}  // namespace mlxcel::engine
