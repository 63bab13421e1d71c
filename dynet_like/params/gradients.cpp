// Gradients: buffers that grow with their collection.
#include "dynet_like/params/gradients.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/device/updates.h"

namespace dynet_like {

using namespace detail;

namespace {

// Reads numbers from the device; returns zeros if there is no gradient.
template <class Stored, class Number>
void read_as(Device& device, const void* from, std::vector<Number>& to) {
  std::vector<Stored> stored(to.size());
  device.read(stored.data(), from, stored.size() * sizeof(Stored));
  std::copy(stored.begin(), stored.end(), to.begin());
}
template <class Number = float>
std::vector<Number> numbers(const ParameterStorage& storage, const void* from, std::size_t n) {
  std::vector<Number> result(n, Number(0));
  if (from == nullptr) return result;
  storage.dtype == DType::f32 ? read_as<float>(storage.device(), from, result)
                              : read_as<double>(storage.device(), from, result);
  return result;
}

// The gradient of a parameter, or of all rows of a table; empty if there is none.
template <class Number>
std::vector<Number> all_numbers(const ParameterStorage& storage, const void* dense,
                                const Gradients::Rows* rows) {
  if (dense != nullptr) return numbers<Number>(storage, dense, storage.size());
  if (rows == nullptr) return {};
  const std::size_t entry = storage.entry_size();
  const auto touched = numbers<Number>(storage, rows->values.data(), rows->rows.size() * entry);
  std::vector<Number> all(storage.size(), Number(0));
  for (std::size_t slot = 0; slot < rows->rows.size(); ++slot) {
    std::copy_n(&touched[slot * entry], entry, &all[rows->rows[slot] * entry]);
  }
  return all;
}

// Enlarges memory. Its first `used` bytes keep their contents.
void grow(Block& block, std::size_t used, std::size_t size, Device& device) {
  if (block.size() >= size) return;
  Block grown(std::max(size, 2 * block.size()), device.memory());
  if (used > 0) device.copy(grown.data(), block.data(), used);
  block = std::move(grown);
}

}  // namespace

void Gradients::Rows::touch(const ParameterStorage& table,
                            std::span<const std::uint32_t> new_rows) {
  touch(*table.layout, table.index, new_rows);
}

void Gradients::Rows::touch(const CollectionLayout& layout, std::size_t index,
                            std::span<const std::uint32_t> new_rows) {
  const CollectionLayout::Entry& table = layout.entries[index];
  const std::size_t bytes = table.entry_size * size_of(layout.dtype), before = rows.size();
  slot_of_row.resize(table.rows, 0);
  try {
    for (const std::uint32_t row : new_rows) {
      if (slot_of_row[row] != 0) continue;
      make_room(rows);
      rows.push_back(row);
      slot_of_row[row] = static_cast<std::uint32_t>(rows.size());
    }
    if (rows.size() == before) return;
    grow(values, before * bytes, rows.size() * bytes, *layout.device);
    layout.device->zero(values.data() + before * bytes, (rows.size() - before) * bytes);
  } catch (...) {
    for (; rows.size() > before; rows.pop_back()) slot_of_row[rows.back()] = 0;
    throw;
  }
}

const std::byte* Gradients::Rows::find(const ParameterStorage& table, std::uint32_t row) const {
  if (row >= slot_of_row.size() || slot_of_row[row] == 0) return nullptr;
  return values.data() + (slot_of_row[row] - 1) * table.entry_size() * size_of(table.dtype);
}

void Gradients::Part::clear(std::size_t index) {
  used[index] = 0;
  Rows& table = tables[index];
  for (std::uint32_t row : table.rows) table.slot_of_row[row] = 0;
  table.rows.clear();
}

void Gradients::clear() {
  is_used_ = false;
  std::erase_if(parts_, [](const Part& part) { return part.layout.use_count() == 1; });
  for (Part& part : parts_) {
    for (std::size_t i = 0; i < part.used.size(); ++i) part.clear(i);
  }
}

void Gradients::clear(const ParameterStorage& parameter) {
  is_used_ = false;
  for (Part& part : parts_) {
    if (part.layout == parameter.layout && parameter.index < part.used.size()) {
      part.clear(parameter.index);
    }
  }
}

void Gradients::clear(const ParameterCollection& collection) {
  for (const auto& storage : collection.get_storage().all) {
    if (collection.contains(*storage)) clear(*storage);
  }
}

void Gradients::check_not_used() const {
  if (!is_used()) return;
  throw UsageError(
      "[backward] need gradients that were cleared after a trainer used them; got some that it "
      "would use again: call Gradients::clear after an update");
}

bool Gradients::has_any_of(const ParameterCollection& collection) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
    if (part.layout != collection.get_storage().layout) return false;
    for (std::size_t i = 0; i < part.used.size(); ++i) {
      if (part.has(i)) return true;
    }
    return false;
  });
}

std::vector<std::string> Gradients::names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    for (std::size_t i = 0; i < part.used.size(); ++i) {
      if (part.has(i)) names.push_back(part.layout->entries[i].name);
    }
  }
  return names;
}

Gradients::Part& Gradients::part(const std::shared_ptr<CollectionLayout>& layout) {
  auto found = std::find_if(parts_.begin(), parts_.end(),
                            [&](const Part& part) { return part.layout == layout; });
  if (found == parts_.end()) found = parts_.insert(parts_.end(), Part{});
  found->layout = layout;
  const std::size_t bytes = layout->dense_size * size_of(layout->dtype);
  grow(found->dense, found->dense.size(), bytes, *layout->device);
  if (found->used.size() < layout->entries.size()) {
    found->tables.resize(layout->entries.size());
    found->used.resize(layout->entries.size(), 0);  // new entries: no gradient yet
  }
  return *found;
}

const Gradients::Part* Gradients::find_part(const ParameterStorage& parameter) const {
  for (const Part& part : parts_) {
    const bool known = parameter.index < part.used.size();
    if (part.layout == parameter.layout && known) return &part;
  }
  return nullptr;
}

void* Gradients::dense(Part& part, std::size_t index, bool& fresh) {
  const CollectionLayout::Entry& entry = part.layout->entries[index];
  const std::size_t element = size_of(part.layout->dtype);
  std::byte* gradient = part.dense.data() + entry.dense_offset * element;
  fresh = part.used[index] == 0;
  part.used[index] = 1;
  return gradient;
}

void* Gradients::dense(Part& part, std::size_t index) {
  bool fresh = false;
  void* gradient = dense(part, index, fresh);
  if (!fresh) return gradient;
  part.used[index] = 0;  // not valid until it has been set to zero
  part.layout->device->zero(gradient,
                            part.layout->entries[index].size * size_of(part.layout->dtype));
  part.used[index] = 1;
  return gradient;
}

void* Gradients::dense(const ParameterStorage& parameter, bool& fresh) {
  return dense(part(parameter.layout), parameter.index, fresh);
}

void* Gradients::dense(const ParameterStorage& parameter) {
  return dense(part(parameter.layout), parameter.index);
}

Gradients::Rows& Gradients::rows(const ParameterStorage& table) {
  return part(table.layout).tables[table.index];
}

const void* Gradients::find_dense(const ParameterStorage& parameter) const {
  const Part* part = find_part(parameter);
  if (part == nullptr || part->used[parameter.index] == 0) return nullptr;
  const CollectionLayout::Entry& entry = part->layout->entries[parameter.index];
  return part->dense.data() + entry.dense_offset * size_of(parameter.dtype);
}

const Gradients::Rows* Gradients::find_rows(const ParameterStorage& table) const {
  const Part* part = find_part(table);
  if (part == nullptr || part->tables[table.index].rows.empty()) return nullptr;
  return &part->tables[table.index];
}

std::vector<float> Gradients::values(const Parameter& parameter) const {
  const ParameterStorage& storage = parameter.get_storage();
  return numbers(storage, find_dense(storage), storage.size());
}

std::vector<float> Gradients::values(const LookupParameter& table, unsigned row) const {
  const ParameterStorage& storage = table.get_storage();
  const Rows* rows = find_rows(storage);
  return numbers(storage, rows == nullptr ? nullptr : rows->find(storage, row),
                 storage.entry_size());
}

std::vector<float> Gradients::all_values(const ParameterStorage& storage) const {
  return all_numbers<float>(storage, find_dense(storage), find_rows(storage));
}

std::vector<double> Gradients::all_doubles(const ParameterStorage& storage) const {
  return all_numbers<double>(storage, find_dense(storage), find_rows(storage));
}

void Gradients::set_values(const ParameterStorage& storage, std::span<const float> numbers) {
  clear(storage);
  if (numbers.empty()) return;
  std::byte* to = nullptr;
  if (storage.is_table) {
    std::vector<std::uint32_t> all(storage.rows());
    std::iota(all.begin(), all.end(), 0);
    Rows& rows = this->rows(storage);
    rows.touch(storage, all);
    to = rows.values.data();
  } else {
    to = static_cast<std::byte*>(dense(storage));
  }
  if (storage.dtype == DType::f32) {
    storage.device().write(to, numbers.data(), numbers.size_bytes());
  } else {
    const std::vector<double> doubles(numbers.begin(), numbers.end());
    storage.device().write(to, doubles.data(), doubles.size() * sizeof(double));
  }
}

void Gradients::add(const Gradients& other) {
  for (const Part& theirs : other.parts_) {
    const CollectionLayout& layout = *theirs.layout;
    const std::size_t element = size_of(layout.dtype);
    Part& ours = part(theirs.layout);
    std::vector<Pair> sums;
    for (std::size_t i = 0; i < theirs.used.size(); ++i) {
      const CollectionLayout::Entry& entry = layout.entries[i];
      if (theirs.used[i] != 0) {
        sums.push_back(
            {dense(ours, i), theirs.dense.data() + entry.dense_offset * element, entry.size});
      }
      const Rows& rows = theirs.tables[i];
      Rows& to = ours.tables[i];
      const std::size_t bytes = entry.entry_size * element;
      to.touch(layout, i, rows.rows);
      for (std::size_t slot = 0; slot < rows.rows.size(); ++slot) {
        sums.push_back({to.values.data() + (to.slot_of_row[rows.rows[slot]] - 1) * bytes,
                        rows.values.data() + slot * bytes, entry.entry_size});
      }
    }
    layout.device->updates().add(layout.dtype, sums);
  }
}

void Gradients::scale(double factor) {
  if (!std::isfinite(factor)) {
    throw UsageError(fmt::format("[Gradients] need a finite factor; got {}", factor));
  }
  is_used_ = false;
  for (Part& part : parts_) {
    const CollectionLayout& layout = *part.layout;
    const Updates& updates = layout.device->updates();
    const auto scale = [&](std::byte* begin, std::size_t count) {
      Elements all;
      all.dtype = layout.dtype;
      all.count = count;
      all.values = begin;
      updates.scale(all, std::span(&factor, 1));
    };
    updates.together([&] {
      for (std::size_t i = 0; i < part.used.size(); ++i) {
        const CollectionLayout::Entry& entry = layout.entries[i];
        const Rows& table = part.tables[i];
        if (part.used[i] != 0) {
          scale(part.dense.data() + entry.dense_offset * size_of(layout.dtype), entry.size);
        }
        if (!table.rows.empty()) scale(table.values.data(), table.rows.size() * entry.entry_size);
      }
    });
  }
}

std::vector<Stretch> Gradients::stretches(const ParameterStorage& storage) const {
  std::vector<Stretch> result;
  if (const void* dense = find_dense(storage); dense != nullptr) {
    result.push_back({dense, storage.size()});
  }
  if (const Rows* rows = find_rows(storage); rows != nullptr) {
    result.push_back({rows->values.data(), rows->rows.size() * storage.entry_size()});
  }
  return result;
}

double Gradients::norm(const ParameterCollection& collection, bool of_all) const {
  std::vector<std::shared_ptr<ParameterStorage>> parameters = collection.storages();
  if (!of_all) std::erase_if(parameters, [](const auto& one) { return !one->updated; });
  return norm(parameters);
}

double Gradients::norm(std::span<const std::shared_ptr<ParameterStorage>> parameters) const {
  if (parameters.empty()) return 0;
  std::vector<Stretch> all;
  for (const auto& parameter : parameters) {
    for (const Stretch& stretch : stretches(*parameter)) all.push_back(stretch);
  }
  const ParameterStorage& any = *parameters.front();
  return std::sqrt(any.device().updates().sum_of_squares(any.dtype, all));
}

}  // namespace dynet_like
