// Gradients: buffers that grow with their collection.
#include "dynet_like/params/gradients.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dynet_like/device/updates.h"

namespace dynet_like {

namespace {

template <class T>
void add_elements(void* to, const void* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    static_cast<T*>(to)[i] = static_cast<T*>(to)[i] + static_cast<const T*>(from)[i];
  }
}

void add_elements(DType dtype, void* to, const void* from, std::size_t n) {
  dtype == DType::f32 ? add_elements<float>(to, from, n) : add_elements<double>(to, from, n);
}

std::vector<float> numbers(DType dtype, const void* from, std::size_t n) {
  std::vector<float> result(n, 0.0f);
  if (from == nullptr) return result;
  for (std::size_t i = 0; i < n; ++i) {
    result[i] = dtype == DType::f32 ? static_cast<const float*>(from)[i]
                                    : static_cast<float>(static_cast<const double*>(from)[i]);
  }
  return result;
}

}  // namespace

std::byte* Gradients::Rows::entry(std::uint32_t row, std::size_t row_count, std::size_t row_bytes) {
  slot_of_row.resize(row_count, 0);
  if (slot_of_row[row] == 0) {
    values.resize((rows.size() + 1) * row_bytes);  // new bytes are zero
    rows.push_back(row);
    slot_of_row[row] = static_cast<std::uint32_t>(rows.size());
  }
  return values.data() + (slot_of_row[row] - 1) * row_bytes;
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
  table.values.clear();
}

void Gradients::clear() {
  for (Part& part : parts_) {
    for (std::size_t i = 0; i < part.used.size(); ++i) part.clear(i);
  }
}

void Gradients::clear(const ParameterStorage& parameter) {
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

Gradients::Part& Gradients::part(const std::shared_ptr<CollectionLayout>& layout) {
  auto found = std::find_if(parts_.begin(), parts_.end(),
                            [&](const Part& part) { return part.layout == layout; });
  if (found == parts_.end()) found = parts_.insert(parts_.end(), Part{});
  found->layout = layout;
  const std::size_t bytes = layout->dense_size * size_of(layout->dtype);
  if (found->dense.size() < bytes) {
    Block grown(bytes);
    if (found->dense.size() > 0) {
      std::memcpy(grown.data(), found->dense.data(), found->dense.size());
    }
    found->dense = std::move(grown);
  }
  if (found->used.size() < layout->entries.size()) {
    found->tables.resize(layout->entries.size());
    found->used.resize(layout->entries.size(), 0);  // those that count
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

void* Gradients::dense(const ParameterStorage& parameter, bool& fresh) {
  return dense(part(parameter.layout), parameter.index, fresh);
}

void* Gradients::dense(const ParameterStorage& parameter) {
  bool fresh = false;
  void* gradient = dense(parameter, fresh);
  if (fresh) std::memset(gradient, 0, parameter.size() * size_of(parameter.dtype));
  return gradient;
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
  return numbers(storage.dtype, find_dense(storage), storage.size());
}

std::vector<float> Gradients::values(const LookupParameter& table, unsigned row) const {
  const ParameterStorage& storage = table.get_storage();
  const Rows* rows = find_rows(storage);
  return numbers(storage.dtype, rows == nullptr ? nullptr : rows->find(storage, row),
                 storage.entry_size());
}

void Gradients::add(const Gradients& other) {
  for (const Part& theirs : other.parts_) {
    const DType dtype = theirs.layout->dtype;
    const std::size_t element = size_of(dtype);
    Part& ours = part(theirs.layout);
    for (std::size_t i = 0; i < theirs.used.size(); ++i) {
      const CollectionLayout::Entry& entry = theirs.layout->entries[i];
      if (theirs.used[i] != 0) {
        bool fresh = false;
        void* sum = dense(ours, i, fresh);
        if (fresh) std::memset(sum, 0, entry.size * element);
        add_elements(dtype, sum, theirs.dense.data() + entry.dense_offset * element, entry.size);
      }
      const Rows& rows = theirs.tables[i];
      const std::size_t bytes = entry.entry_size * element;
      for (std::size_t slot = 0; slot < rows.rows.size(); ++slot) {
        add_elements(dtype, ours.tables[i].entry(rows.rows[slot], entry.rows, bytes),
                     rows.values.data() + slot * bytes, entry.entry_size);
      }
    }
  }
}

double Gradients::norm(const ParameterCollection& collection, bool of_all) const {
  double sum = 0;
  for (const auto& storage : collection.storages()) {
    if (!storage->updated && !of_all) continue;
    if (const void* dense = find_dense(*storage); dense != nullptr) {
      sum += updates::sum_of_squares(storage->dtype, dense, storage->size());
    }
    if (const Rows* rows = find_rows(*storage); rows != nullptr) {
      sum += updates::sum_of_squares(storage->dtype, rows->values.data(),
                                     rows->rows.size() * storage->entry_size());
    }
  }
  return std::sqrt(sum);
}

}  // namespace dynet_like
