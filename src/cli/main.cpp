// The program: finds the verb, runs it, and turns every error into one line and an exit code.
#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/actions.h"
#include "cli/command_line.h"
#include "kernels/dispatch.h"

namespace mlxcel::cli {
namespace {

struct Action {
  std::string_view verb;
  int (*run)(const FlagValues& flags);
};
constexpr std::array kActions = {
    Action{"generate", run_generate}, Action{"chat", run_chat}, Action{"dump", run_dump},
    Action{"inspect", run_inspect},   Action{"list", run_list},
};

int exit_code(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::kBadInput:
    case base::ErrorKind::kNotFound:
    case base::ErrorKind::kUnsupported:
      return 2;
    case base::ErrorKind::kResource:
    case base::ErrorKind::kInternal:
      return 1;
  }
  return 1;
}

int run(const std::vector<std::string>& arguments) {
  const Command command = parse_command_line(arguments, MLXCEL_VERSION);
  if (command.answer) {
    std::cout << *command.answer << std::flush;
    return 0;
  }
  kernels::init_from_environment();
  for (const Action& action : kActions) {
    if (action.verb == command.verb->name) return action.run(command.values);
  }
  throw base::internal_error("the verb '{}' has no action", command.verb->name);
}

int report(std::string_view message, int code) {
  std::cout << std::flush;
  std::cerr << "mlxcel: " << message << "\n";
  return code;
}

}  // namespace
}  // namespace mlxcel::cli

int main(int argc, char** argv) {
  using namespace mlxcel;
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return cli::run({argv + std::min(argc, 1), argv + argc});
  } catch (const base::Error& error) {
    return cli::report(error.what(), cli::exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return cli::report("out of memory", 1);
  } catch (const std::exception& error) {
    return cli::report(error.what(), 1);
  }
}
