// Elementary functions on vectors of f32, all from one exp. Polynomials are minimax fits (Remez, in
// 40-digit arithmetic, then rounded to f32). Errors, tested over dense ranges in math_test.cpp:
//   exp_f32    2 ulp, denormal results included; 0 and infinity where the result leaves the range
//   erf_f32    1e-7 absolute
//   tanh_f32   4 ulp
// NaN gives NaN.
#if defined(MLXCEL_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_KERNELS_MATH_INL_H_
#undef MLXCEL_KERNELS_MATH_INL_H_
#else
#define MLXCEL_KERNELS_MATH_INL_H_
#endif

#include "kernels/kernels.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// exp(x) = 2^n exp(r) with |r| <= ln(2) / 2; exp(r) = 1 + r + r^2 q(r). x is finite and within
// [-104, 89]. 2^n is applied in two factors, so that it reaches denormals and infinity.
HWY_INLINE VF exp_reduced(VF x) {
  const DF d;
  const DI di;
  const VI n = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const VF nf = hn::ConvertTo(d, n);
  // ln(2) in two parts; n times the first is exact.
  VF r = hn::NegMulAdd(nf, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(nf, hn::Set(d, -2.12194440e-4f), r);
  VF q = hn::Set(d, 0.0013813145f);
  q = hn::MulAdd(q, r, hn::Set(d, 0.008369419f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.041668456f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.16666515f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.49999994f));
  const VF p = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  const VI half = hn::ShiftRight<1>(n);
  const VI bias = hn::Set(di, 127);
  const VF first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
  return hn::Mul(hn::Mul(p, first), second);
}

HWY_INLINE VF exp_f32(VF x) {
  const DF d;
  const VF low = hn::Set(d, -104.0f);
  const VF high = hn::Set(d, 89.0f);
  // Comparisons, not Min and Max, whose treatment of NaN differs between targets.
  VF y = hn::IfThenElse(hn::Gt(x, low), x, low);
  y = hn::IfThenElse(hn::Lt(y, high), y, high);
  return hn::IfThenElse(hn::Eq(x, x), exp_reduced(y), x);
}

// exp for x <= 0 where tiny results may become 0 (softmax weights): below -87 gives 0; NaN gives
// NaN.
HWY_INLINE VF exp_softmax(VF x) {
  const DF d;
  const DI di;
  const VF low = hn::Set(d, -87.0f);
  const VF y = hn::IfThenElse(hn::Gt(x, low), x, low);
  const VI n = hn::NearestInt(hn::Mul(y, hn::Set(d, 1.44269504f)));
  const VF nf = hn::ConvertTo(d, n);
  VF r = hn::NegMulAdd(nf, hn::Set(d, 0.693359375f), y);
  r = hn::NegMulAdd(nf, hn::Set(d, -2.12194440e-4f), r);
  VF q = hn::Set(d, 0.0013813145f);
  q = hn::MulAdd(q, r, hn::Set(d, 0.008369419f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.041668456f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.16666515f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.49999994f));
  const VF p = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  const VF power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
  const VF result = hn::Mul(p, power);
  return hn::IfThenElse(hn::Le(x, low), hn::Zero(d), hn::IfThenElse(hn::Eq(x, x), result, x));
}

// |x| < 1: x + x P(x^2). Else 1 - exp(Q(|x|)) with Q fitted to log(erfc); beyond 4 that is 1 in
// f32.
HWY_INLINE VF erf_f32(VF x) {
  const DF d;
  const VF magnitude = hn::Abs(x);
  const VF s = hn::Mul(x, x);
  VF p = hn::Set(d, 7.8538615e-05f);
  p = hn::MulAdd(p, s, hn::Set(d, -0.00080101937f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.0051883277f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.026853813f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.112835854f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.37612626f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.12837917f));
  const VF small = hn::MulAdd(p, x, x);

  const VF four = hn::Set(d, 4.0f);
  const VF t = hn::IfThenElse(hn::Lt(magnitude, four), magnitude, four);
  VF q = hn::Set(d, 0.00018557391f);
  q = hn::MulAdd(q, t, hn::Set(d, -0.0029396063f));
  q = hn::MulAdd(q, t, hn::Set(d, 0.021805314f));
  q = hn::MulAdd(q, t, hn::Set(d, -0.103037365f));
  q = hn::MulAdd(q, t, hn::Set(d, -0.6382257f));
  q = hn::MulAdd(q, t, hn::Set(d, -1.12704f));
  q = hn::MulAdd(q, t, hn::Set(d, -0.00035372053f));
  const VF large = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), exp_reduced(q)), x);
  const VF result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 1.0f)), small, large);
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// |x| < 0.63: x + x s P(s) with s = x^2. Else 1 - 2 / (exp(2 |x|) + 1).
HWY_INLINE VF tanh_f32(VF x) {
  const DF d;
  const VF magnitude = hn::Abs(x);
  const VF s = hn::Mul(x, x);
  VF p = hn::Set(d, -0.0056483163f);
  p = hn::MulAdd(p, s, hn::Set(d, 0.020589827f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.053725127f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.13331275f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.33333275f));
  const VF small = hn::MulAdd(hn::Mul(p, s), x, x);
  const VF ten = hn::Set(d, 10.0f);
  const VF t = hn::IfThenElse(hn::Lt(magnitude, ten), magnitude, ten);
  const VF one = hn::Set(d, 1.0f);
  const VF e = exp_reduced(hn::Add(t, t));
  const VF large = hn::CopySign(hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one))), x);
  const VF result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.63f)), small, large);
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// x / (1 + exp(-k x)): SiLU (k = 1), quick GELU (k = 1.702).
HWY_INLINE VF silu_f32(VF x, float k) {
  const DF d;
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), exp_f32(hn::Mul(x, hn::Set(d, -k)))));
}

HWY_INLINE VF activate_f32(Activation activation, VF x) {
  const DF d;
  const VF half = hn::Set(d, 0.5f);
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGeluErf: {
      const VF e = erf_f32(hn::Mul(x, hn::Set(d, 0.70710678f)));
      return hn::Mul(hn::Mul(half, x), hn::Add(hn::Set(d, 1.0f), e));
    }
    case Activation::kGeluTanh: {
      // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
      const VF inner = hn::MulAdd(hn::Mul(hn::Mul(x, x), x), hn::Set(d, 0.044715f), x);
      const VF t = tanh_f32(hn::Mul(inner, hn::Set(d, 0.79788456f)));
      return hn::Mul(hn::Mul(half, x), hn::Add(hn::Set(d, 1.0f), t));
    }
    case Activation::kQuickGelu:
      return silu_f32(x, 1.702f);
    case Activation::kSilu:
      return silu_f32(x, 1.0f);
  }
  return x;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#endif
