// The one hierarchy of errors. The kind decides the exit code of the CLI (and the HTTP status of a
// server), so that no layer has to guess from a message what went wrong.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace mlxcel::base {

enum class ErrorKind {
  kBadInput,     // the user, a file or a request is wrong
  kNotFound,     // something named does not exist
  kUnsupported,  // well formed, but this program does not do it
  kResource,     // memory, disk, descriptors
  kInternal,     // our own mistake
};

// `what()` is one line: what happened, which file, field or flag, what was expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Each makes an Error of its kind, to be thrown: throw bad_input("{}: 'bits' is {}, expected 2..8",
// file, bits);
template <typename... Args>
Error bad_input(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kBadInput, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Error not_found(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kNotFound, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Error unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kUnsupported, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Error resource_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kResource, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kInternal, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace mlxcel::base
