// Which Highway targets are compiled. Included before any Highway header, the same in every file,
// so that all tables of functions have the same entries.
//
// SSSE3 gives nothing over SSE4 on any machine of interest; scalable vectors (SVE, RVV) cannot be
// held in arrays, which the register tiles here need.
#pragma once

// The macros name constants that Highway defines before it evaluates them.
#if MLXCEL_FEWER_TARGETS
// Sanitizer builds look for stray reads and writes: the portable and the widest target show those,
// and each further target costs minutes of compilation.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// The portable target. Highway withdraws it for GCC before 12.3, whose vectoriser gets high halves
// of integer products wrong (GCC bug 106322); these kernels multiply no integers, and the tests run
// every target.
#define HWY_BROKEN_EMU128 0
