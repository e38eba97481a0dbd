// Workers spin briefly after each job before they sleep: between two operations of one model step
// lie only microseconds, while an idle program must cost nothing.
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mlxcel::base {
namespace {

constexpr auto kSpin = std::chrono::microseconds(150);

// Number of distinct physical cores among the CPUs of the affinity mask; hyper-threads share one.
int physical_cores(const cpu_set_t& mask) {
  std::set<std::pair<std::string, std::string>> cores;
  int logical = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    ++logical;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::string package;
    std::string core;
    std::ifstream(topology + "physical_package_id") >> package;
    std::ifstream(topology + "core_id") >> core;
    if (core.empty()) core = "cpu" + std::to_string(cpu);
    cores.emplace(package, core);
  }
  return logical == 0 ? 1 : static_cast<int>(cores.size());
}

// The cgroup v2 quota in whole CPUs (rounded up), or a large number when there is none.
int cgroup_quota() {
  std::string quota;
  double period = 0;
  std::ifstream("/sys/fs/cgroup/cpu.max") >> quota >> period;
  if (quota.empty() || quota == "max" || period <= 0) return 1 << 20;
  const double limit = std::atof(quota.c_str()) / period;
  return std::max(1, static_cast<int>(limit + 0.999));
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

int available_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return std::max(1, std::min(physical_cores(mask), cgroup_quota()));
}

namespace {

// One call of `run`. Workers hold it by shared pointer: one that wakes late finds nothing left to
// claim, and nobody waits for it.
struct Job {
  const std::function<void(size_t)>* task;
  size_t count;
  std::atomic<size_t> next{0};
  std::atomic<size_t> finished{0};

  void drain() {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      (*task)(i);
      finished.fetch_add(1, std::memory_order_release);
    }
  }
};

}  // namespace

struct ThreadPool::State {
  std::mutex call_mutex;  // one job at a time
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> generation{0};
  std::atomic<bool> stop{false};
  std::shared_ptr<Job> job;  // of this generation; guarded by `mutex`
  std::vector<std::thread> workers;

  void work() {
    uint64_t seen = 0;
    while (true) {
      const auto deadline = std::chrono::steady_clock::now() + kSpin;
      while (generation.load(std::memory_order_acquire) == seen && !stop.load()) {
        pause_cpu();
        if (std::chrono::steady_clock::now() < deadline) continue;
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation.load() != seen || stop.load(); });
      }
      if (stop.load()) return;
      std::shared_ptr<Job> current;
      {
        const std::lock_guard lock(mutex);
        seen = generation.load();
        current = job;
      }
      current->drain();
    }
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? threads : available_cores()), state_(std::make_unique<State>()) {
  for (int i = 1; i < threads_; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->work(); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop.store(true);
  }
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::run(size_t count, const std::function<void(size_t)>& task) {
  if (threads_ == 1 || count <= 1) {
    for (size_t i = 0; i < count; ++i) task(i);
    return;
  }
  const std::lock_guard call(state_->call_mutex);
  const auto job = std::make_shared<Job>();
  job->task = &task;
  job->count = count;
  {
    const std::lock_guard lock(state_->mutex);
    state_->job = job;
    state_->generation.fetch_add(1, std::memory_order_release);
  }
  state_->wake.notify_all();
  job->drain();
  while (job->finished.load(std::memory_order_acquire) != count) pause_cpu();
}

}  // namespace mlxcel::base
