// Folders of one file and of shards, right and wrong. Messages name the folder, which differs in
// each run: "D" stands for it in the expectations.
#include "checkpoint/tensor_set.h"

#include <gtest/gtest.h>

#include "checkpoint/testing.h"

namespace mlxcel::checkpoint {
namespace {

using base::TempDir;

const std::string kSingle = "model.safetensors";
const std::string kIndex = "model.safetensors.index.json";

// A file of tensors of one byte each, named by one letter; the byte is the letter.
std::string shard(const std::string& letters) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < letters.size(); ++i) {
    entries.push_back(entry(letters.substr(i, 1), "U8", "1", i, i + 1));
  }
  return file_image(object(entries), letters);
}

std::string index_of(const std::string& weight_map) {
  return R"({"metadata":{"total_size":3},"weight_map":{)" + weight_map + "}}";
}

std::string open_message(const TempDir& dir) {
  const std::string message = base::message_of([&] { TensorSet::open(dir.path()); });
  const std::string folder = dir.path().string();
  std::string shown;
  for (size_t at = 0; at < message.size();) {
    const bool here = message.compare(at, folder.size(), folder) == 0;
    shown += here ? 'D' : message[at];
    at += here ? folder.size() : 1;
  }
  return shown;
}

char byte_of(const TensorSet& set, const std::string& name) {
  return static_cast<char>(set.find(name)->data[0]);
}

TEST(TensorSet, OpensOneFile) {
  TempDir dir;
  dir.write(kSingle, shard("ab"));
  const TensorSet set = TensorSet::open(dir.path());
  EXPECT_EQ(set.tensors().size(), 2U);
  EXPECT_EQ(set.total_bytes(), 2U);
  EXPECT_EQ(set.folder(), dir.path());
  EXPECT_EQ(byte_of(set, "a"), 'a');
  EXPECT_EQ(byte_of(set, "b"), 'b');
  EXPECT_EQ(set.find("c"), nullptr);
}

TEST(TensorSet, OpensShards) {
  TempDir dir;
  dir.write("s1", shard("ac"));
  dir.write("s2", shard("b"));
  dir.write("other.safetensors", "not named by the index");
  dir.write(kIndex, index_of(R"("a":"s1","b":"s2","c":"s1")"));
  const TensorSet set = TensorSet::open(dir.path());
  EXPECT_EQ(set.tensors().size(), 3U);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(byte_of(set, name), name[0]);
}

TEST(TensorSet, OpensTheIndexOfASingleFile) {  // as MLX writes it
  TempDir dir;
  dir.write(kSingle, shard("a"));
  dir.write(kIndex, index_of(R"("a":"model.safetensors")"));
  EXPECT_EQ(byte_of(TensorSet::open(dir.path()), "a"), 'a');
}

TEST(TensorSet, FolderWithoutWeightsIsNotFound) {
  TempDir dir;
  EXPECT_EQ(open_message(dir),
            "D: neither model.safetensors nor model.safetensors.index.json is there");
  try {
    TensorSet::open(dir.path());
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::kNotFound);
  }
}

TEST(TensorSet, NamesThePathOfABrokenFile) {
  TempDir dir;
  dir.write(kSingle, "short");
  EXPECT_EQ(open_message(dir), "D/model.safetensors: 5 bytes, too short for a safetensors header");
}

struct BadIndex {
  const char* what;
  std::string index;
  std::string message;  // without "D/model.safetensors.index.json: "
};

TEST(TensorSet, RefusesBadIndexes) {
  const std::string plain = "', expected the name of a file in the same folder";
  const std::vector<BadIndex> cases = {
      {"empty", "", "not valid JSON near byte 1"},
      {"list", "[]", "D/model.safetensors.index.json is [], expected an object"},
      {"no map", "{}", "field 'weight_map' is missing"},
      {"map is a list", R"({"weight_map":["s1"]})", "'weight_map' is not an object"},
      {"deep", fmt::format("{{\"a\":{:[>50000}", "["), "nested deeper than 200 levels"},
      {"file is a number", index_of(R"("a":1)"),
       "tensor 'a' in 'weight_map' is 1, expected a string"},
      {"file is null", index_of(R"("a":null)"),
       "tensor 'a' in 'weight_map' is null, expected a string"},
      {"file has no name", index_of(R"("a":"")"), "tensor 'a' lies in '" + plain},
      {"parent folder", index_of(R"("a":"../s1")"), "tensor 'a' lies in '../s1" + plain},
      {"parent alone", index_of(R"("a":"..")"), "tensor 'a' lies in '.." + plain},
      {"folder itself", index_of(R"("a":".")"), "tensor 'a' lies in '." + plain},
      {"absolute", index_of(R"("a":"/etc/passwd")"), "tensor 'a' lies in '/etc/passwd" + plain},
      {"subfolder", index_of(R"("a":"sub/s1")"), "tensor 'a' lies in 'sub/s1" + plain},
      {"other separator", index_of(R"("a":"..\\s1")"), "tensor 'a' lies in '..\\s1" + plain},
      {"NUL cuts the name", index_of(R"("a":"s1\u0000x")"), "tensor 'a' lies in 's1\\x00x" + plain},
      {"newline in both names", index_of(R"("a\nb":"s\n1")"),
       "tensor 'a\\x0Ab' lies in 's\\x0A1" + plain},
      {"long name", index_of(fmt::format("\"a\":\"{:s>256}\"", "s")),
       fmt::format("tensor 'a' lies in '{:s>200}...{}", "s", plain)},
      {"tensor twice, same file", index_of(R"("a":"s1","a":"s1")"), "an object names 'a' twice"},
      {"tensor twice, two files", index_of(R"("a":"s1","b":"s2","a":"s2")"),
       "an object names 'a' twice"},
      {"map twice", R"({"weight_map":{"a":"s1"},"weight_map":{"a":"s2"}})",
       "an object names 'weight_map' twice"},
  };
  for (const BadIndex& bad : cases) {
    SCOPED_TRACE(bad.what);
    TempDir dir;
    dir.write("s1", shard("a"));
    dir.write("s2", shard("b"));
    dir.write(kIndex, bad.index);
    const bool whole = bad.message.starts_with("D/");
    const std::string expected = whole ? bad.message : fmt::format("D/{}: {}", kIndex, bad.message);
    EXPECT_EQ(open_message(dir), expected);
  }
}

struct BadShards {
  const char* what;
  std::string weight_map;
  std::string first;
  std::string second;
  std::string message;
};

TEST(TensorSet, RefusesShardsThatDisagreeWithTheIndex) {
  const std::vector<BadShards> cases = {
      {"shard absent", R"("a":"s1","b":"s2","c":"s3")", shard("a"), shard("b"),
       "D/s3: no such file, though D/model.safetensors.index.json places tensors there"},
      {"shard lacks a tensor", R"("a":"s1","b":"s2","c":"s2")", shard("a"), shard("b"),
       "D/s2: tensor 'c' is missing, though D/model.safetensors.index.json places it there"},
      {"name that no file can hold", R"("a":"s1","b":"s2","c\n":"s2")", shard("a"), shard("b"),
       "D/s2: tensor 'c\\x0A' is missing, though D/model.safetensors.index.json places it there"},
      {"tensor in two shards", R"("a":"s1","b":"s2")", shard("a"), shard("ba"),
       "D/s2: holds tensor 'a', which D/model.safetensors.index.json does not place there"},
      {"tensor that the index does not know", R"("a":"s1","b":"s2")", shard("ac"), shard("b"),
       "D/s1: holds tensor 'c', which D/model.safetensors.index.json does not place there"},
      {"tensors exchanged", R"("a":"s1","b":"s2")", shard("b"), shard("a"),
       "D/s1: holds tensor 'b', which D/model.safetensors.index.json does not place there"},
      {"shard cut short", R"("a":"s1","b":"s2")", shard("a"), shard("b").substr(0, 20),
       "D/s2: header of 53 bytes in a file of 20 bytes (limit 100000000)"},
  };
  for (const BadShards& bad : cases) {
    SCOPED_TRACE(bad.what);
    TempDir dir;
    dir.write("s1", bad.first);
    dir.write("s2", bad.second);
    dir.write(kIndex, index_of(bad.weight_map));
    EXPECT_EQ(open_message(dir), bad.message);
  }
}

TEST(TensorSet, RefusesAFolderInPlaceOfAShard) {
  TempDir dir;
  std::filesystem::create_directory(dir.path() / "s1");
  dir.write(kIndex, index_of(R"("a":"s1")"));
  EXPECT_EQ(open_message(dir), "D/s1: not a regular file");
}

TEST(TensorSet, TensorsInMemoryMustDiffer) {
  const Tensor a{.name = "a"};
  const Tensor b{.name = "b"};
  EXPECT_TRUE(TensorSet::from_tensors({a, b}, "m").contains("b"));
  EXPECT_EQ(base::message_of([&] {
              TensorSet::from_tensors({a, b, a}, "m");
            }),
            "m: tensor 'a' stands in more than one file");
}

}  // namespace
}  // namespace mlxcel::checkpoint
