// ServedParameters: values, gradients and the trainer's state as bytes.
#include "dynet_like/distributed/served_parameters.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/row_lists.h"

namespace dynet_like::detail {

namespace {

using Bytes = Communicator::Bytes;

std::size_t bytes_of(const ParameterStorage& storage) {
  return storage.size() * size_of(storage.dtype);
}

template <class Number>
void append_number(Bytes& bytes, Number number) {
  append_bytes(bytes, &number, sizeof(number));
}

template <class Number>
Number take_number(RowReader& reader) {
  Number number;
  std::memcpy(&number, reader.take(sizeof(number)).data(), sizeof(number));
  return number;
}

void write_values(ParameterStorage& to, const std::byte* from) {
  std::memcpy(to.tensor_to_fill().data(), from, bytes_of(to));
  to.values_written();
}

void check_served(const Trainer& trainer) {
  const ParameterCollection& parameters = trainer.parameters();
  if (!parameters.device()->is_cpu()) {
    throw UsageError("[ParameterServer] need parameters on the CPU; got " +
                     parameters.device()->name());
  }
  const ParameterGroups groups(trainer.groups(), parameters.storages());
  for (const auto& storage : parameters.storages()) {
    if (!storage->is_table || !storage->is_trained()) continue;
    const bool is_lazy = trainer.sparse_updates == SparseUpdates::lazy;
    const float decay = groups.settings_of(*storage).weight_decay.value_or(trainer.weight_decay);
    if (is_lazy && decay == 0) continue;
    throw UsageError(fmt::format(
        "[ParameterServer] need lazy updates without weight decay for tables, so that rows without "
        "a gradient stay as they are; got {} updates with a decay of {} for \"{}\"",
        is_lazy ? "lazy" : "exact", decay, storage->name));
  }
}

}  // namespace

std::vector<Storages> shares_of(const ParameterCollection& parameters, unsigned ranks) {
  constexpr std::size_t kRows = 16;
  const auto cost = [](const ParameterStorage& storage) {
    return storage.size() / (storage.is_table ? kRows : 1) + 1;
  };
  Storages largest_first = parameters.storages();
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [&](const auto& a, const auto& b) { return cost(*a) > cost(*b); });
  std::vector<Storages> shares(ranks);
  std::vector<std::size_t> costs(ranks, 0);
  for (const auto& storage : largest_first) {
    const auto least =
        static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    costs[least] += cost(*storage);
    shares[least].push_back(storage);
  }
  return shares;
}

void append_gradients(Bytes& bytes, const Gradients& gradients, const Storages& share) {
  for (const auto& storage : share) {
    if (!storage->is_trained()) continue;
    if (storage->is_table) {
      RowList(*storage, gradients.find_rows(*storage)).append_to(bytes);
      continue;
    }
    const void* const dense = gradients.find_dense(*storage);
    append_number(bytes, std::uint8_t{dense != nullptr});
    if (dense != nullptr) append_bytes(bytes, dense, bytes_of(*storage));
  }
}

void read_values(std::span<const std::byte> bytes, const Storages& share) {
  RowReader reader(bytes);
  for (const auto& storage : share) {
    if (!storage->is_trained()) continue;
    if (storage->is_table) {
      reader.read(*storage).put_into(*storage);
    } else {
      write_values(*storage, reader.take(bytes_of(*storage)).data());
    }
  }
}

ServedParameters::ServedParameters(Trainer& trainer, const Storages& share)
    : trainer_(trainer.copy()) {
  check_served(trainer);
  trainer_->disable_clipping();  // workers clip their gradients
  for (const auto& storage : share) {
    share_.push_back(trainer_->parameters().find(storage->name));
  }
  for (const auto& storage : trainer_->parameters().storages()) {
    const bool is_own = std::find(share_.begin(), share_.end(), storage) != share_.end();
    storage->updated = is_own && storage->is_trained();
    if (is_own && storage->is_table) row_versions_[storage.get()].resize(storage->rows(), 0);
  }
}

void ServedParameters::append_values(Bytes& bytes, std::uint64_t after) const {
  for (const auto& storage : share_) {
    if (!storage->is_trained()) continue;
    if (!storage->is_table) {
      append_bytes(bytes, storage->tensor().data(), bytes_of(*storage));
      continue;
    }
    const std::vector<std::uint64_t>& versions = row_versions_.at(storage.get());
    std::vector<std::uint32_t> newer;
    for (std::uint32_t row = 0; row < versions.size(); ++row) {
      if (versions[row] > after) newer.push_back(row);
    }
    RowList(*storage, std::move(newer)).append_to(bytes);
  }
}

void ServedParameters::add(std::span<const std::byte> gradients, std::uint64_t minibatch,
                           std::uint64_t version) {
  RowReader reader(gradients);
  Gradients& kept = kept_[minibatch];
  for (const auto& storage : share_) {
    if (!storage->is_trained()) continue;
    if (storage->is_table) {
      reader.read(*storage).put_into(kept, *storage);
    } else if (take_number<std::uint8_t>(reader) != 0) {
      const std::span<const std::byte> values = reader.take(bytes_of(*storage));
      std::memcpy(kept.dense(*storage), values.data(), values.size());
    }
  }
  most_staleness_ = std::max(most_staleness_, version_ - version);
  total_staleness_ += version_ - version;
}

void ServedParameters::update() {
  if (kept_.empty()) return;
  Gradients& sum = kept_.begin()->second;
  for (auto next = std::next(kept_.begin()); next != kept_.end(); ++next) sum.add(next->second);
  trainer_->update(sum);
  ++version_;
  note_rows(sum);
  kept_.clear();
}

void ServedParameters::note_rows(const Gradients& gradients) {
  for (auto& [storage, versions] : row_versions_) {
    const Gradients::Rows* const rows = gradients.find_rows(*storage);
    if (rows == nullptr) continue;
    for (const std::uint32_t row : rows->rows) versions[row] = version_;
  }
}

Bytes ServedParameters::state() const {
  const TrainerState state = trainer_->state();
  Bytes bytes;
  append_number(bytes, state.updates);
  append_number(bytes, state.learning_rate);
  for (const auto& storage : share_) {
    const auto is_of = [&](const auto& one) { return one.parameter == storage; };
    append_bytes(bytes, storage->tensor().data(), bytes_of(*storage));
    append_number(bytes, static_cast<std::uint32_t>(
                             std::count_if(state.moments.begin(), state.moments.end(), is_of)));
    for (const TrainerState::Moment& moment : state.moments) {
      if (!is_of(moment)) continue;
      append_number(bytes, static_cast<std::uint32_t>(moment.name.size()));
      append_bytes(bytes, moment.name.data(), moment.name.size());
      append_bytes(bytes, moment.values.data(), bytes_of(*storage));
    }
    const auto average = std::find_if(state.averages.begin(), state.averages.end(), is_of);
    const bool has_average = average != state.averages.end();
    append_number(bytes, has_average ? average->count : std::uint64_t{0});
    if (has_average) append_bytes(bytes, average->values.data(), bytes_of(*storage));
  }
  return bytes;
}

void load_states(Trainer& trainer, std::span<const Bytes> states,
                 const std::vector<Storages>& shares) {
  TrainerState all = trainer.state();
  all.moments.clear();
  all.averages.clear();
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    RowReader reader(states[rank]);
    const auto values_of = [&](const ParameterStorage& storage) {
      // a Tensor cannot be const, but these values are only read
      auto* const values = const_cast<std::byte*>(reader.take(bytes_of(storage)).data());
      return Tensor(storage.dim, storage.dtype, values);
    };
    all.updates = take_number<std::uint64_t>(reader);
    all.learning_rate = take_number<float>(reader);
    for (const auto& storage : shares[rank]) {
      write_values(*storage, reader.take(bytes_of(*storage)).data());
      const auto moments = take_number<std::uint32_t>(reader);
      for (std::uint32_t i = 0; i < moments; ++i) {
        const std::span<const std::byte> name = reader.take(take_number<std::uint32_t>(reader));
        all.moments.push_back({storage,
                               std::string(reinterpret_cast<const char*>(name.data()), name.size()),
                               values_of(*storage)});
      }
      const auto count = take_number<std::uint64_t>(reader);
      if (count > 0) all.averages.push_back({storage, count, values_of(*storage)});
    }
  }
  trainer.load_state(all);
}

}  // namespace dynet_like::detail
