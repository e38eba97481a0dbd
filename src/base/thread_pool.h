// Fork-join parallelism for kernels. Work is cut into tasks whose boundaries do not depend on the
// number of threads, so that results do not either.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace mlxcel::base {

// Physical cores that this process may use: affinity mask and cgroup CPU quota respected, at
// least 1.
int available_cores();

class ThreadPool {
 public:
  // `threads` workers in all, the calling thread included; 0 means available_cores().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls task(0) ... task(count - 1), each once, on the workers and the caller; returns when all
  // are done. Tasks must not throw and must not call `run` of the same pool. Calls from several
  // threads are served one after the other.
  void run(size_t count, const std::function<void(size_t)>& task);

 private:
  struct State;
  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace mlxcel::base
