#include <gtest/gtest.h>
TEST(Stub, One) {}
