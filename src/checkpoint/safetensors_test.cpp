// The reader against files of the reference writer (tools/fixtures/make_checkpoint_cases.py) and
// against files that are wrong in every way we could think of.
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "base/json.h"
#include "checkpoint/testing.h"

namespace mlxcel::checkpoint {
namespace {

using base::DType;

const std::string kFixtures = MLXCEL_SOURCE_DIR "/tests/fixtures/checkpoint/";

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

template <typename T>
T element(const Tensor& tensor, size_t i) {
  T value{};
  std::memcpy(&value, tensor.data.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Element i as JSON, for comparison with what the reference wrote.
base::Json element_as_json(const Tensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::kF32:
      return element<float>(tensor, i);
    case DType::kF16:
      return base::f16_to_f32(element<uint16_t>(tensor, i));
    case DType::kBF16:
      return base::bf16_to_f32(element<uint16_t>(tensor, i));
    case DType::kI8:
      return element<int8_t>(tensor, i);
    case DType::kU8:
      return element<uint8_t>(tensor, i);
    case DType::kI16:
      return element<int16_t>(tensor, i);
    case DType::kU16:
      return element<uint16_t>(tensor, i);
    case DType::kI32:
      return element<int32_t>(tensor, i);
    case DType::kU32:
      return element<uint32_t>(tensor, i);
    case DType::kI64:
      return element<int64_t>(tensor, i);
    case DType::kU64:
      return element<uint64_t>(tensor, i);
    case DType::kBool:
      return element<uint8_t>(tensor, i) != 0;
  }
  return nullptr;
}

TEST(Safetensors, ReadsWhatTheReferenceWrote) {
  const base::Json expected = base::load_json(kFixtures + "every_dtype.json");
  const auto tensors = open_safetensors(kFixtures + "every_dtype.safetensors");
  ASSERT_EQ(tensors.size(), expected.size());
  ASSERT_EQ(tensors.size(), 16U);
  for (const Tensor& tensor : tensors) {
    SCOPED_TRACE(tensor.name);
    const base::Json& wanted = expected.at(tensor.name);
    EXPECT_EQ(base::dtype_name(tensor.dtype), wanted.at("dtype").get<std::string>());
    EXPECT_EQ(tensor.shape, wanted.at("shape").get<std::vector<int64_t>>());
    const base::Json& values = wanted.at("values");
    ASSERT_EQ(static_cast<size_t>(tensor.elements()), values.size());
    ASSERT_EQ(tensor.data.size(), values.size() * base::dtype_size(tensor.dtype));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(element_as_json(tensor, i), values[i]) << i;
  }
}

TEST(Safetensors, TensorsKeepTheFileMapped) {
  Tensor tensor;
  {
    base::TempDir dir;
    const auto path = dir.write("x", file_image(object({entry("a", "U8", "2", 0, 2)}), "hi"));
    tensor = open_safetensors(path).at(0);
  }
  EXPECT_EQ(element<char>(tensor, 0), 'h');
  EXPECT_EQ(element<char>(tensor, 1), 'i');
}

struct GoodCase {
  const char* what;
  std::string header;
  std::string payload;
  std::vector<std::string> found;  // name, shape, type and bytes of each tensor
};

TEST(Safetensors, AcceptsEveryWellFormedFile) {
  const std::string float_one("\0\0\x80\x3F", 4);
  const std::vector<GoodCase> cases = {
      {"no tensors", "{}", "", {}},
      {"metadata alone", R"({"__metadata__":{"format":"pt","é":"ü\n"}})", "", {}},
      {"null metadata", R"({"__metadata__":null})", "", {}},
      {"padded header", object({entry("a", "U8", "1", 0, 1)}) + "       ", "x", {"a [1] U8 x"}},
      {"white space inside",
       "{ \n\t\"a\" : {\"shape\":[ 1 ],\r\"data_offsets\":[0 , 1],\"dtype\":\"U8\"} }",
       "x",
       {"a [1] U8 x"}},
      {"unaligned payload",
       object({entry("a", "U8", "1", 0, 1), entry("b", "F32", "1", 1, 5)}),
       "x" + float_one,
       {"a [1] U8 x", "b [1] F32 " + float_one}},
      {"payload order differs from the header's",
       object({entry("b", "U8", "2", 1, 3), entry("a", "U8", "1", 0, 1)}),
       "xyz",
       {"b [2] U8 yz", "a [1] U8 x"}},
      {"scalar", object({entry("a", "I16", "", 0, 2)}), "xy", {"a [] I16 xy"}},
      {"empty tensors at the start, between and at the end",
       object({entry("e0", "F32", "0", 0, 0), entry("a", "U8", "1", 0, 1),
               entry("e1", "F32", "0,9223372036854775807", 1, 1), entry("b", "U8", "1", 1, 2),
               entry("e2", "U8", "3,0", 2, 2)}),
       "xy",
       {"e0 [0] F32 ", "a [1] U8 x", "e1 [0, 9223372036854775807] F32 ", "b [1] U8 y",
        "e2 [3, 0] U8 "}},
      {"unknown field",
       R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":[{}]}})",
       "x",
       {"a [1] U8 x"}},
      {"eight dimensions",
       object({entry("a", "U8", "1,1,1,2,1,1,1,1", 0, 2)}),
       "xy",
       {"a [1, 1, 1, 2, 1, 1, 1, 1] U8 xy"}},
      {"longest name",
       object({entry(std::string(512, 'n'), "U8", "1", 0, 1)}),
       "x",
       {std::string(512, 'n') + " [1] U8 x"}},
      {"escaped name",
       R"({"\u0061\/b\"\\":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "x",
       {R"(a/b"\ [1] U8 x)"}},
  };
  for (const GoodCase& good : cases) {
    SCOPED_TRACE(good.what);
    const std::string image = file_image(good.header, good.payload);
    std::vector<std::string> found;
    for (const Tensor& tensor : parse_safetensors(as_bytes(image), "f")) {
      found.push_back(fmt::format(
          "{} {} {}", tensor.name, describe(tensor),
          std::string_view(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size())));
    }
    EXPECT_EQ(found, good.found);
  }
}

struct BadCase {
  const char* what;
  std::string image;
  std::string message;
};

// One tensor "a" whose entry has these fields.
std::string with_fields(const std::string& fields, const std::string& payload = "x") {
  return file_image(R"({"a":{)" + fields + "}}", payload);
}

std::string with_length(uint64_t length, const std::string& rest) {
  std::string image = file_image("");
  std::memcpy(image.data(), &length, sizeof(length));
  return image + rest;
}

std::vector<BadCase> bad_frames() {
  return {
      {"empty file", "", "f: 0 bytes, too short for a safetensors header"},
      {"cut in the length", std::string(7, '\0'), "f: 7 bytes, too short for a safetensors header"},
      {"no header", std::string(8, '\0'), "f: the header is not a JSON object"},
      {"cut in the header", with_length(3, "{}"),
       "f: header of 3 bytes in a file of 10 bytes (limit 100000000)"},
      {"over the limit", with_length(100'000'001, "{}"),
       "f: header of 100000001 bytes in a file of 10 bytes (limit 100000000)"},
      {"huge length", with_length(uint64_t{1} << 40, "{}"),
       "f: header of 1099511627776 bytes in a file of 10 bytes (limit 100000000)"},
      {"length that wraps with the prefix", with_length(UINT64_MAX - 7, "{}"),
       "f: header of 18446744073709551608 bytes in a file of 10 bytes (limit 100000000)"},
      {"largest length", with_length(UINT64_MAX, "{}"),
       "f: header of 18446744073709551615 bytes in a file of 10 bytes (limit 100000000)"},
      {"white space before the brace", file_image(" {}"), "f: the header is not a JSON object"},
      {"byte order mark", file_image("\xEF\xBB\xBF{}"), "f: the header is not a JSON object"},
      {"list", file_image("[]"), "f: the header is not a JSON object"},
      {"number", file_image("5"), "f: the header is not a JSON object"},
      {"brace alone", file_image("{"), "f: header: not valid JSON near byte 2"},
      {"zeros after the object", file_image(std::string("{}\0\0", 4)),
       "f: header: not valid JSON near byte 3"},
      {"text behind a zero", file_image(std::string("{}\0{\"a\":5}", 10)),
       "f: header: not valid JSON near byte 3"},
      {"two objects", file_image("{}{}"), "f: header: not valid JSON near byte 3"},
      {"bad UTF-8", file_image("{\"\xFF\":1}"), "f: header: not valid JSON near byte 3"},
      {"raw newline in a name", file_image("{\"a\nb\":1}"),
       "f: header: not valid JSON near byte 4"},
      {"lone surrogate", file_image(R"({"\ud800":1})"), "f: header: not valid JSON near byte 9"},
      {"number out of range", file_image("{\"a\":1e999}"),
       "f: header: not valid JSON near byte 10"},
      {"deep lists", file_image(fmt::format("{{\"a\":{:[>100000}", "[")),
       "f: header: nested deeper than 200 levels"},
      {"metadata is a number", file_image(R"({"__metadata__":5})"),
       "f: '__metadata__' is not an object of strings"},
      {"metadata of numbers", file_image(R"({"__metadata__":{"a":5}})"),
       "f: '__metadata__' is not an object of strings"},
      {"tensor twice",
       file_image(object({entry("a", "U8", "1", 0, 1), entry("a", "U8", "1", 0, 1)}), "x"),
       "f: header: an object names 'a' twice"},
      {"tensor twice, spelt in two ways", file_image(R"({"a\n":1,"b":2,"\u0061\u000a":3})"),
       "f: header: an object names 'a\\x0A' twice"},
      {"field twice", with_fields(R"("dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1])"),
       "f: header: an object names 'shape' twice"},
  };
}

std::vector<BadCase> bad_entries() {
  const std::string whole = ", expected an integer from 0 to 9223372036854775807";
  return {
      {"entry is a number", file_image(R"({"a":5})"), "f: tensor 'a' is 5, expected an object"},
      {"entry is null", file_image(R"({"a":null})"), "f: tensor 'a' is null, expected an object"},
      {"no type", with_fields(R"("shape":[1],"data_offsets":[0,1])"),
       "f: tensor 'a': field 'dtype' is missing"},
      {"no shape", with_fields(R"("dtype":"U8","data_offsets":[0,1])"),
       "f: tensor 'a': field 'shape' is missing"},
      {"null shape", with_fields(R"("dtype":"U8","shape":null,"data_offsets":[0,1])"),
       "f: tensor 'a': field 'shape' is missing"},
      {"no offsets", with_fields(R"("dtype":"U8","shape":[1])"),
       "f: tensor 'a': field 'data_offsets' is missing"},
      {"type is a number", with_fields(R"("dtype":8,"shape":[1],"data_offsets":[0,1])"),
       "f: tensor 'a': 'dtype' is 8, expected a string"},
      {"shape is a number", with_fields(R"("dtype":"U8","shape":1,"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape' is 1, expected a list"},
      {"dimension is text", with_fields(R"("dtype":"U8","shape":["1\n"],"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape[0]' is \"1\\n\", expected an integer"},
      {"broken dimension", with_fields(R"("dtype":"U8","shape":[1,2.5],"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape[1]' is 2.5, expected an integer"},
      {"negative dimension", with_fields(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape[0]' is -1" + whole},
      {"two negative dimensions",
       with_fields(R"("dtype":"U8","shape":[-1,-1],"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape[0]' is -1" + whole},
      {"dimension beyond int64",
       with_fields(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape[0]' is 9223372036854775808" + whole},
      {"dimensions that overflow to 0",
       with_fields(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
       "f: tensor 'a' has dimensions [4294967296, 4294967296], which overflow"},
      {"dimensions that overflow before a 0",
       with_fields(R"("dtype":"U8","shape":[4611686018427387904,4,0],"data_offsets":[0,0])", ""),
       "f: tensor 'a' has dimensions [4611686018427387904, 4, 0], which overflow"},
      {"bytes that overflow",
       with_fields(R"("dtype":"U64","shape":[2305843009213693952],"data_offsets":[0,0])"),
       "f: tensor 'a' has dimensions [2305843009213693952], which overflow"},
      {"nine dimensions",
       with_fields(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1])"),
       "f: tensor 'a': 'shape' has 9 numbers, expected at most 8"},
      {"offsets is an object", with_fields(R"("dtype":"U8","shape":[1],"data_offsets":{})"),
       "f: tensor 'a': 'data_offsets' is {}, expected a list"},
      {"no offset", with_fields(R"("dtype":"U8","shape":[1],"data_offsets":[])"),
       "f: tensor 'a': 'data_offsets' has 0 numbers, expected 2"},
      {"one offset", with_fields(R"("dtype":"U8","shape":[1],"data_offsets":[1])"),
       "f: tensor 'a': 'data_offsets' has 1 numbers, expected 2"},
      {"three offsets", with_fields(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,1])"),
       "f: tensor 'a': 'data_offsets' has 3 numbers, expected at most 2"},
      {"negative offset", with_fields(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])"),
       "f: tensor 'a': 'data_offsets[0]' is -1" + whole},
      {"reversed offsets", with_fields(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"),
       "f: tensor 'a' lies at bytes 1..0 of a payload of 1 bytes"},
      {"past the end", with_fields(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])"),
       "f: tensor 'a' lies at bytes 0..2 of a payload of 1 bytes"},
      {"far past the end",
       with_fields(
           R"("dtype":"U8","shape":[1],"data_offsets":[9223372036854775806,9223372036854775807])"),
       "f: tensor 'a' lies at bytes 9223372036854775806..9223372036854775807 of a payload of 1 "
       "bytes"},
      {"cut in the payload", file_image(object({entry("a", "F32", "2", 0, 8)}), "1234567"),
       "f: tensor 'a' lies at bytes 0..8 of a payload of 7 bytes"},
      {"too few bytes", file_image(object({entry("a", "F32", "2", 0, 7)}), "1234567"),
       "f: tensor 'a' is [2] F32 (8 bytes), but its offsets span 7 bytes"},
      {"too many bytes", file_image(object({entry("a", "BF16", "2,2", 0, 9)}), "123456789"),
       "f: tensor 'a' is [2, 2] BF16 (8 bytes), but its offsets span 9 bytes"},
      {"bytes for an empty tensor", file_image(object({entry("a", "U8", "0", 0, 1)}), "x"),
       "f: tensor 'a' is [0] U8 (0 bytes), but its offsets span 1 bytes"},
      {"no bytes for a scalar", file_image(object({entry("a", "U8", "", 0, 0)})),
       "f: tensor 'a' is [] U8 (1 bytes), but its offsets span 0 bytes"},
      {"F64", file_image(object({entry("a", "F64", "1", 0, 8)}), "12345678"),
       "f: tensor 'a' has element type 'F64', which is not supported"},
      {"F8", file_image(object({entry("a", "F8_E4M3", "1", 0, 1)}), "x"),
       "f: tensor 'a' has element type 'F8_E4M3', which is not supported"},
      {"small letters", file_image(object({entry("a", "f32", "1", 0, 4)}), "1234"),
       "f: tensor 'a' has element type 'f32', which is not supported"},
      {"type with a newline",
       with_fields(R"("dtype":"F32\n\u0000é","shape":[1],"data_offsets":[0,1])"),
       "f: tensor 'a' has element type 'F32\\x0A\\x00\\xC3\\xA9', which is not supported"},
      {"empty name", file_image(object({entry("", "U8", "1", 0, 1)}), "x"),
       "f: a tensor name has 0 bytes, expected 1..512"},
      {"long name", file_image(object({entry(std::string(513, 'n'), "U8", "1", 0, 1)}), "x"),
       "f: a tensor name has 513 bytes, expected 1..512"},
      {"name with NUL and newline",
       file_image(object({entry("a\\u0000\\nb", "U8", "1", 0, 1)}), "x"),
       "f: tensor 'a\\x00\\x0Ab' has characters in its name that are not printable ASCII"},
      {"name with a line separator", file_image(object({entry("a\\u2028", "U8", "1", 0, 1)}), "x"),
       "f: tensor 'a\\xE2\\x80\\xA8' has characters in its name that are not printable ASCII"},
      {"name with an escape code", file_image(object({entry("\\u001b[2J", "U8", "1", 0, 1)}), "x"),
       "f: tensor '\\x1B[2J' has characters in its name that are not printable ASCII"},
      {"metadata as a field", file_image(object({entry("__metadata__", "U8", "1", 0, 1)}), "x"),
       "f: '__metadata__' is not an object of strings"},
  };
}

std::vector<BadCase> bad_tilings() {
  const std::string a = entry("a", "U8", "2", 0, 2);
  return {
      {"overlap", file_image(object({a, entry("b", "U8", "2", 1, 3)}), "xyz"),
       "f: tensor 'b' overlaps the one before it (starts at byte 1, expected 2)"},
      {"same bytes", file_image(object({entry("b", "U8", "2", 0, 2), a}), "xy"),
       "f: tensor 'a' overlaps the one before it (starts at byte 0, expected 2)"},
      {"inside another",
       file_image(object({entry("b", "U8", "1", 1, 2), entry("a", "U8", "3", 0, 3)}), "xyz"),
       "f: tensor 'b' overlaps the one before it (starts at byte 1, expected 3)"},
      {"empty tensor inside another", file_image(object({a, entry("e", "U8", "0", 1, 1)}), "xy"),
       "f: tensor 'e' overlaps the one before it (starts at byte 1, expected 2)"},
      {"gap at the start", file_image(object({entry("b", "U8", "1", 1, 2)}), "xy"),
       "f: 1 unused bytes before tensor 'b'"},
      {"gap between", file_image(object({a, entry("b", "U8", "1", 5, 6)}), "xy...z"),
       "f: 3 unused bytes before tensor 'b'"},
      {"gap before an empty tensor", file_image(object({a, entry("e", "U8", "0", 3, 3)}), "xy."),
       "f: 1 unused bytes before tensor 'e'"},
      {"bytes at the end", file_image(object({a}), "xyz"), "f: 1 bytes after the last tensor"},
      {"payload without tensors", file_image("{}", "xyz"), "f: 3 bytes after the last tensor"},
  };
}

class HostileFiles : public testing::TestWithParam<std::vector<BadCase> (*)()> {};

TEST_P(HostileFiles, AreRefusedInOnePrintableLine) {
  for (const BadCase& bad : GetParam()()) {
    SCOPED_TRACE(bad.what);
    const std::string message = parse_message(bad.image);
    EXPECT_EQ(message, bad.message);
    for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << static_cast<int>(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Safetensors, HostileFiles,
                         testing::Values(&bad_frames, &bad_entries, &bad_tilings));

TEST(Safetensors, KindOfErrorTellsUnsupportedFromBroken) {
  const auto kind_of = [](const std::string& image) {
    try {
      parse_safetensors(as_bytes(image), "f");
    } catch (const base::Error& error) {
      return error.kind();
    }
    return base::ErrorKind::kInternal;
  };
  EXPECT_EQ(kind_of(file_image(object({entry("a", "F64", "1", 0, 8)}), "12345678")),
            base::ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(file_image("[]")), base::ErrorKind::kBadInput);
}

// Seconds of processor time for a file of so many tensors.
double seconds_for(size_t count) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < count; ++i) {
    entries.push_back(entry(fmt::format("t{}", i), "U8", "1", i, i + 1));
  }
  const std::string image = file_image(object(entries), std::string(count, 'x'));
  const std::clock_t start = std::clock();
  EXPECT_EQ(parse_safetensors(as_bytes(image), "f").size(), count);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Eight times the tensors take eight times the time, or a header of the permitted size would take
// days: quadratic time would be 64 times.
TEST(Safetensors, ManyTensorsTakeLinearTime) {
  const double few = std::min(seconds_for(10'000), seconds_for(10'000));
  EXPECT_LT(seconds_for(80'000), 30 * few);
}

// Whatever is done to a file, it is refused or all tensors lie inside it.
TEST(Safetensors, CorruptFilesAreRefusedOrStayInsideTheBuffer) {
  const std::string valid =
      file_image(object({entry("a.weight", "F32", "2,3", 0, 24), entry("b", "BF16", "0", 24, 24),
                         entry("c", "U8", "10", 24, 34), R"("__metadata__":{"format":"pt"})"}),
                 std::string(34, 'x'));
  ASSERT_EQ(parse_message(valid), "no error");
  std::mt19937 random(20240607);
  const auto below = [&random](size_t bound) { return static_cast<size_t>(random()) % bound; };
  constexpr std::string_view kLikely = "0123456789-{}[]\",:.eE \\\0\xFF";
  size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string image = valid;
    for (size_t edits = 1 + below(3); edits > 0 && !image.empty(); --edits) {
      const size_t at = below(image.size());
      switch (below(5)) {
        case 0:
          image[at] = static_cast<char>(random());
          break;
        case 1:
          image[at] = kLikely[below(kLikely.size())];
          break;
        case 2:
          image.insert(at, 1, kLikely[below(kLikely.size())]);
          break;
        case 3:
          image.erase(at, 1 + below(4));
          break;
        case 4:
          image.resize(at);
          break;
      }
      // Edits of the text shift its length; keep the frame right in half of the files.
      const uint64_t length = image.size() - std::min<size_t>(image.size(), 42);
      if (below(2) == 0 && image.size() > 42) std::memcpy(image.data(), &length, sizeof(length));
    }
    const std::vector<std::byte> bytes(as_bytes(image).begin(), as_bytes(image).end());
    const std::string message = base::message_of([&] {
      for (const Tensor& tensor : parse_safetensors(bytes, "f")) {
        ASSERT_GE(tensor.data.data(), bytes.data() + 8);
        ASSERT_LE(tensor.data.data() + tensor.data.size(), bytes.data() + bytes.size());
        ASSERT_EQ(tensor.data.size(),
                  static_cast<size_t>(tensor.elements()) * base::dtype_size(tensor.dtype));
      }
    });
    if (message == "no error") ++accepted;
    ASSERT_EQ(message.find_first_of(std::string_view("\0\n\r", 3)), std::string::npos) << message;
  }
  // The corruptions are worth something: some leave a valid file (in the payload), most do not.
  EXPECT_GT(accepted, 100U);
  EXPECT_LT(accepted, 10'000U);
}

}  // namespace
}  // namespace mlxcel::checkpoint
