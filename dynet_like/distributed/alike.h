// Checks that ranks have everything in common that training together needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

namespace detail {

/// What differs between two lists of texts, for messages: a name, and the places of both texts
/// where they differ, or "nothing".
struct Difference {
  std::string name, first, second;
};
/// The first difference in the order of the names; nothing if there is none.
std::optional<Difference> difference_of(const std::map<std::string, std::string>& first,
                                        const std::map<std::string, std::string>& second);

/// Throws UsageError, with the difference and the ranks, unless all ranks have the same texts with
/// the same names. `rule` begins the message: "[TrainingRun] need the same options".
void check_alike(Communicator& ranks, const std::string& rule,
                 const std::map<std::string, std::string>& mine);
/// The same for these texts, the instruction set and the settings of a trainer; then for its
/// moments and averages and for the parameters, whose digests are comparable only if the former
/// agree.
void check_alike(Communicator& ranks, const std::string& rule,
                 std::map<std::string, std::string> mine, Trainer& trainer,
                 const ParameterCollection& parameters);

/// A digest of the names, shapes, flags and values of parameters. Ranks with the same parameters
/// and the same instruction set have the same digest. Reads about 16 bytes per cycle.
std::uint64_t digest_of(const ParameterCollection& parameters);

/// The names of all parameters in their order, which clipping and ranks add them in, and whether
/// they are frozen or not updated.
std::string list_of(const ParameterCollection& parameters);
/// Adds a text for each parameter, and for their list, for check_alike().
void describe(const ParameterCollection& parameters, std::map<std::string, std::string>& texts);
/// Adds the settings of a trainer.
void describe_settings(const Trainer& trainer, std::map<std::string, std::string>& texts);

}  // namespace detail

}  // namespace dynet_like
