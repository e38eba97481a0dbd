// Cuts linear layers into tasks. A task is a tile of outputs whose size follows from the shape of
// the matrix alone, so results are the same for any number of threads; the tile kernels make each
// output the same for any number of rows on either side of kFewRows, too.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/internal.h"
#include "kernels/workspace.h"

namespace mlxcel::kernels {
namespace {

// Bytes of weights of one decoding task: a few microseconds of memory traffic.
constexpr int64_t kTaskBytes = 96 * 1024;

int64_t row_size(const WeightView& w) {
  return w.quantized() ? w.in * w.bits / 8 : w.in * static_cast<int64_t>(base::dtype_size(w.dtype));
}

void check(const WeightView& w) {
  const bool type_ok =
      w.dtype == base::DType::kF32 || w.dtype == base::DType::kF16 || w.dtype == base::DType::kBF16;
  if (!type_ok)
    throw base::internal_error("linear: dtype {}, expected F32, F16 or BF16",
                               base::dtype_name(w.dtype));
  if (!w.quantized()) return;
  const bool bits_ok = w.bits >= 2 && w.bits <= 8 && w.bits != 7;
  const bool group_ok = w.group_size == 32 || w.group_size == 64 || w.group_size == 128;
  if (!bits_ok || !group_ok || w.in % w.group_size != 0) {
    throw base::internal_error(
        "linear: {} bits, groups of {} over {} inputs is not an MLX affine format", w.bits,
        w.group_size, w.in);
  }
}

// One output and the matrix, or the pair of matrices, that make it.
struct Job {
  const WeightView* weight;
  const WeightView* up;  // null but for SwiGLU
  Epilogue epilogue;
  float* y;
};

// A range of task numbers for each job.
struct Plan {
  int64_t columns = 0;  // outputs of one task
  int64_t first = 0;    // number of its first task
};

std::vector<Plan> plan_jobs(std::span<const Job> jobs, int64_t rows, int64_t* total) {
  std::vector<Plan> plans;
  *total = 0;
  for (const Job& job : jobs) {
    Plan plan;
    plan.first = *total;
    if (rows > kFewRows) {
      plan.columns = kGemmColumns;
      *total += ceil_div(job.weight->out, plan.columns) * ceil_div(rows, kGemmRows);
    } else {
      const int64_t size = row_size(*job.weight) * (job.up != nullptr ? 2 : 1);
      plan.columns = std::clamp<int64_t>(kTaskBytes / std::max<int64_t>(size, 1) / 8 * 8, 8, 256);
      *total += ceil_div(job.weight->out, plan.columns);
    }
    plans.push_back(plan);
  }
  return plans;
}

size_t job_of_task(std::span<const Plan> plans, int64_t task) {
  size_t job = plans.size() - 1;
  while (plans[job].first > task) --job;
  return job;
}

Epilogue moved(Epilogue epilogue, int64_t row, int64_t column, int64_t out) {
  if (epilogue.bias != nullptr) epilogue.bias += column;
  if (epilogue.residual != nullptr) epilogue.residual += row * out + column;
  return epilogue;
}

void run_many_rows(std::span<const Job> jobs, const float* x, int64_t rows,
                   base::ThreadPool& pool) {
  int64_t total = 0;
  const std::vector<Plan> plans = plan_jobs(jobs, rows, &total);
  pool.run(static_cast<size_t>(total), [&](size_t task) {
    const size_t j = job_of_task(plans, static_cast<int64_t>(task));
    const Job& job = jobs[j];
    const WeightView& w = *job.weight;
    const int64_t tiles = ceil_div(w.out, kGemmColumns);
    const int64_t local = static_cast<int64_t>(task) - plans[j].first;
    const int64_t row = local / tiles * kGemmRows;
    const int64_t column = local % tiles * kGemmColumns;
    const int64_t tile_rows = std::min(kGemmRows, rows - row);
    const int64_t columns = std::min(kGemmColumns, w.out - column);
    const auto tile_size = static_cast<size_t>(tile_rows * kGemmColumns);
    float* tile = scratch_floats(Slot::kTile, tile_size * 2);
    gemm_tile(w, x + row * w.in, tile_rows, column, columns, tile);
    float* y = job.y + row * w.out + column;
    if (job.up != nullptr) {
      gemm_tile(*job.up, x + row * w.in, tile_rows, column, columns, tile + tile_size);
      finish_swiglu(tile, tile + tile_size, kGemmColumns, tile_rows, columns, y, w.out);
    } else {
      finish_tile(tile, kGemmColumns, tile_rows, columns, moved(job.epilogue, row, column, w.out),
                  y, w.out);
    }
  });
}

// x in the forms that the matrices of the jobs need, each made once.
class Preparations {
 public:
  Preparations(std::span<const Job> jobs, const float* x, int64_t rows) {
    for (const Job& job : jobs) {
      add(*job.weight);
      if (job.up != nullptr) add(*job.up);
    }
    int64_t floats = 0;
    for (const Entry& entry : entries_)
      floats += round_up(prepared_floats(*entry.weight, rows), 16);
    float* memory = scratch_floats(Slot::kShared, static_cast<size_t>(floats));
    for (Entry& entry : entries_) {
      entry.x = prepare_x(*entry.weight, x, rows, memory);
      memory += round_up(prepared_floats(*entry.weight, rows), 16);
    }
  }

  const PreparedX& find(const WeightView& weight) const {
    size_t i = 0;
    while (!same_preparation(*entries_[i].weight, weight)) ++i;
    return entries_[i].x;
  }

 private:
  struct Entry {
    const WeightView* weight;
    PreparedX x;
  };
  void add(const WeightView& weight) {
    for (const Entry& entry : entries_) {
      if (same_preparation(*entry.weight, weight)) return;
    }
    entries_.push_back({&weight, {}});
  }
  std::vector<Entry> entries_;
};

void run_few_rows(std::span<const Job> jobs, const float* x, int64_t rows, base::ThreadPool& pool) {
  int64_t total = 0;
  const std::vector<Plan> plans = plan_jobs(jobs, rows, &total);
  const Preparations prepared(jobs, x, rows);
  pool.run(static_cast<size_t>(total), [&](size_t task) {
    const size_t j = job_of_task(plans, static_cast<int64_t>(task));
    const Job& job = jobs[j];
    const WeightView& w = *job.weight;
    const int64_t stride = plans[j].columns;
    const int64_t column = (static_cast<int64_t>(task) - plans[j].first) * stride;
    const int64_t columns = std::min(stride, w.out - column);
    const auto tile_size = static_cast<size_t>(rows * stride);
    float* tile = scratch_floats(Slot::kTile, tile_size * 2);
    decode_tile(w, prepared.find(w), rows, column, columns, tile, stride);
    float* y = job.y + column;
    if (job.up != nullptr) {
      decode_tile(*job.up, prepared.find(*job.up), rows, column, columns, tile + tile_size, stride);
      finish_swiglu(tile, tile + tile_size, stride, rows, columns, y, w.out);
    } else {
      finish_tile(tile, stride, rows, columns, moved(job.epilogue, 0, column, w.out), y, w.out);
    }
  });
}

void run_jobs(std::span<const Job> jobs, const float* x, int64_t rows, base::ThreadPool& pool) {
  if (rows <= 0 || jobs.empty()) return;
  for (const Job& job : jobs) {
    check(*job.weight);
    if (job.up != nullptr) check(*job.up);
  }
  if (rows > kFewRows) return run_many_rows(jobs, x, rows, pool);
  run_few_rows(jobs, x, rows, pool);
}

}  // namespace

void linear(const float* x, int64_t rows, const WeightView& weight, const Epilogue& epilogue,
            float* y, base::ThreadPool& pool) {
  const Job job = {&weight, nullptr, epilogue, y};
  run_jobs({&job, 1}, x, rows, pool);
}

void linear_many(const float* x, int64_t rows, std::span<const LinearTask> tasks,
                 base::ThreadPool& pool) {
  std::vector<Job> jobs;
  jobs.reserve(tasks.size());
  for (const LinearTask& task : tasks) {
    if (task.weight.in != tasks[0].weight.in) {
      throw base::internal_error("linear_many: {} inputs beside {}", task.weight.in,
                                 tasks[0].weight.in);
    }
    jobs.push_back({&task.weight, nullptr, task.epilogue, task.y});
  }
  run_jobs(jobs, x, rows, pool);
}

void linear_swiglu(const float* x, int64_t rows, const WeightView& gate, const WeightView& up,
                   float* y, base::ThreadPool& pool) {
  if (gate.in != up.in || gate.out != up.out) {
    throw base::internal_error("linear_swiglu: gate is {}x{}, up is {}x{}", gate.out, gate.in,
                               up.out, up.in);
  }
  const Job job = {&gate, &up, {}, y};
  run_jobs({&job, 1}, x, rows, pool);
}

}  // namespace mlxcel::kernels
