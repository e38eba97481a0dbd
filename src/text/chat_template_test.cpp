#include <gtest/gtest.h>
TEST(Stub, Two) {}
