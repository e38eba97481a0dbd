// The scripts driven by the shells themselves: bash always, zsh and fish where they are installed.
#include "cli/completion.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/verbs.h"

namespace mlxcel::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A folder of its own with the script, two pictures and a subfolder; gone at the end.
class CompletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mlxcel-completion-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "sub-dir");
    fs::create_directory(folder_ / "two dirs");
    write("one.png", "");
    write("two words.png", "");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name) << content;
  }

  static bool has_shell(const std::string& shell) {
    return std::system(("command -v " + shell + " > /dev/null 2>&1").c_str()) == 0;
  }

  // Runs a script file inside the folder; its standard output, then its exit status.
  std::string run(const std::string& shell, const std::string& script) const {
    write("run", script);
    const std::string command =
        "cd '" + folder_.string() + "' && HOME='" + folder_.string() + "' " + shell + " run 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
      ADD_FAILURE() << "cannot start " << shell;
      return {};
    }
    std::string out;
    char buffer[4096];
    for (size_t read; (read = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      out.append(buffer, read);
    }
    EXPECT_EQ(pclose(pipe), 0) << out;
    return out;
  }

  // What bash offers for each of the command lines, whose last word is the one being typed.
  std::vector<Words> bash_offers(const std::vector<Words>& lines) const {
    write("completion", completion_script("bash"));
    std::string script =
        "set -u\nsource ./completion\nmlxcel() { [[ \"$*\" == 'list --names' ]] && printf "
        "'qwen\\nmage-demo\\n'; }\n";
    for (const Words& words : lines) {
      script += "COMP_WORDS=(mlxcel";
      for (const std::string& word : words) {
        script += " '" + word + "'";
      }
      script += ")\nCOMP_CWORD=" + std::to_string(words.size()) + "\n_mlxcel\n";
      script +=
          "for offer in \"${COMPREPLY[@]+\"${COMPREPLY[@]}\"}\"; do printf '%s\\n' \"$offer\"; "
          "done\n";
      script += "echo ==\n";
    }
    std::istringstream out(run("bash --norc", script));
    std::vector<Words> offers(1);
    for (std::string line; std::getline(out, line);) {
      if (line == "==") {
        std::sort(offers.back().begin(), offers.back().end());
        offers.emplace_back();
      } else if (!line.empty()) {
        offers.back().push_back(line);
      }
    }
    offers.pop_back();
    EXPECT_EQ(offers.size(), lines.size());
    offers.resize(lines.size());
    return offers;
  }
  Words bash_offer(const Words& words) const { return bash_offers({words}).front(); }

  fs::path folder_;
};

template <typename Range>
Words sorted(const Range& range) {
  Words words(range.begin(), range.end());
  std::sort(words.begin(), words.end());
  return words;
}

Words all_spellings(const Verb& verb) {
  Words names;
  for (const Flag& flag : verb.flags) {
    names.emplace_back(flag.name);
    if (!flag.short_name.empty()) {
      names.emplace_back(flag.short_name);
    }
  }
  return sorted(names);
}

TEST_F(CompletionTest, BashOffersTheVerbs) {
  Words expected = sorted(listed_verb_names());
  expected.insert(expected.begin(), {"--help", "--version"});
  EXPECT_EQ(bash_offer({""}), expected);
  EXPECT_EQ(bash_offer({"c"}), (Words{"chat", "completion"}));
  EXPECT_EQ(bash_offer({"zz"}), Words{});
}

TEST_F(CompletionTest, BashOffersEveryFlagOfEveryVerb) {
  std::vector<Words> lines;
  for (const Verb& verb : verb_table()) {
    lines.push_back({std::string(verb.name), "-"});
  }
  const std::vector<Words> offers = bash_offers(lines);
  for (size_t i = 0; i < offers.size(); ++i) {
    EXPECT_EQ(offers[i], all_spellings(verb_table()[i])) << lines[i].front();
  }
}

TEST_F(CompletionTest, BashOffersWhatEachFlagTakes) {
  std::vector<Words> lines;
  std::vector<Words> expected;
  for (const Verb& verb : verb_table()) {
    for (const Flag& flag : verb.flags) {
      if (flag.is_switch()) {
        continue;
      }
      Words offer = sorted(flag.choices());
      if (flag.complete == Completion::kFile) {
        offer = {"completion", "one.png", "run", "sub-dir", "two dirs", "two words.png"};
      } else if (flag.complete == Completion::kDirectory) {
        offer = {"sub-dir", "two dirs"};
      } else if (flag.complete == Completion::kModel) {
        offer = {"mage-demo", "qwen", "sub-dir", "two dirs"};
      }
      for (const std::string_view name : {flag.name, flag.short_name}) {
        if (!name.empty()) {
          lines.push_back({std::string(verb.name), std::string(name), ""});
          expected.push_back(offer);
        }
      }
    }
  }
  ASSERT_FALSE(lines.empty());
  const std::vector<Words> offers = bash_offers(lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(offers[i], expected[i]) << lines[i][0] << " " << lines[i][1];
  }
}

TEST_F(CompletionTest, BashFollowsTheTypedStart) {
  EXPECT_EQ(bash_offer({"generate", "--im"}), Words{"--image"});
  EXPECT_EQ(bash_offer({"generate", "--image", "two w"}), Words{"two words.png"});
  EXPECT_EQ(bash_offer({"generate", "-m", "ma"}), Words{"mage-demo"});
  EXPECT_EQ(bash_offer({"completion", ""}), (Words{"bash", "fish", "zsh"}));
  EXPECT_EQ(bash_offer({"help", "ins"}), Words{"inspect"});
  EXPECT_EQ(bash_offer({"nothing", ""}), Words{});
}

TEST_F(CompletionTest, BashCompletesBehindAnEqualsSign) {
  // Split by COMP_WORDBREAKS as usual, or not.
  EXPECT_EQ(bash_offer({"generate", "--kv-type", "="}), (Words{"bf16", "f16", "f32"}));
  EXPECT_EQ(bash_offer({"generate", "--kv-type", "=", "b"}), Words{"bf16"});
  EXPECT_EQ(bash_offer({"generate", "--kv-type=b"}), Words{"--kv-type=bf16"});
  EXPECT_EQ(bash_offer({"generate", "--max-tokens=1"}), Words{});
}

TEST_F(CompletionTest, ZshReadsItsScript) {
  const std::string script = completion_script("zsh");
  for (const Verb& verb : verb_table()) {
    const size_t begin = script.find("\n        " + std::string(verb.name) + ")\n");
    ASSERT_NE(begin, std::string::npos) << verb.name;
    const std::string block = script.substr(begin, script.find(";;", begin) - begin);
    for (const std::string& name : all_spellings(verb)) {
      // Behind the exclusions: "(-m --model)-m+[", "*--stop=[", "(- *)--help[".
      const bool found = block.find(")" + name + "[") != std::string::npos ||
                         block.find(")" + name + "=[") != std::string::npos ||
                         block.find(")" + name + "+[") != std::string::npos ||
                         block.find("*" + name + "=[") != std::string::npos;
      EXPECT_TRUE(found) << verb.name << " " << name;
    }
  }
  if (!has_shell("zsh")) {
    GTEST_SKIP() << "zsh is not installed";
  }
  EXPECT_EQ(run("zsh -n", script), "");
}

TEST_F(CompletionTest, FishReadsItsScript) {
  const std::string script = completion_script("fish");
  for (const Verb& verb : verb_table()) {
    for (const Flag& flag : verb.flags) {
      std::string line = "'__mlxcel_command_is " + std::string(verb.name) + "'";
      if (!flag.short_name.empty()) {
        line += " -s " + std::string(flag.short_name.substr(1));
      }
      line += " -l " + std::string(flag.name.substr(2)) + " -";
      EXPECT_NE(script.find(line), std::string::npos) << line;
    }
  }
  if (!has_shell("fish")) {
    GTEST_SKIP() << "fish is not installed";
  }
  EXPECT_EQ(run("fish -n", script), "");

  write("completion", script);
  const std::string offers =
      run("fish --no-config",
          "source ./completion\n"
          "function mlxcel; printf 'qwen\\nmage-demo\\n'; end\n"
          "for line in 'mlxcel ins' 'mlxcel generate --kv-type ' 'mlxcel generate --imag' "
          "'mlxcel generate -m ma' 'mlxcel list --models-dir su' 'mlxcel generate --image on'\n"
          "  complete -C $line | string replace -r '\\t.*' ''\n"
          "end\ntrue\n");
  EXPECT_EQ(offers, "inspect\nbf16\nf16\nf32\n--image\nmage-demo\nsub-dir/\none.png\n");
}

TEST_F(CompletionTest, AnotherShellIsAnInternalError) {
  EXPECT_THROW(completion_script("tcsh"), base::Error);
}

}  // namespace
}  // namespace mlxcel::cli
