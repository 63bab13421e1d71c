// What ranks must have in common to train together.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

namespace detail {

/// Throws UsageError, with what differs and on which ranks, unless all have the same texts by the
/// same names. `rule` begins the message: "[TrainingRun] need the same options".
void check_alike(Communicator& ranks, const std::string& rule,
                 const std::map<std::string, std::string>& mine);
/// The same for these texts, the instruction set and the settings of a trainer, and then for its
/// moments and averages and for the parameters, whose digests can be compared only then.
void check_alike(Communicator& ranks, const std::string& rule,
                 std::map<std::string, std::string> mine, Trainer& trainer,
                 const ParameterCollection& parameters);

/// Of the names, shapes, flags and values of parameters. Equal on all ranks that have one
/// instruction set if these are; reads some 16 bytes a cycle.
std::uint64_t digest_of(const ParameterCollection& parameters);

/// The same for each parameter, as a text for check_alike().
void describe(const ParameterCollection& parameters, std::map<std::string, std::string>& texts);
/// Of the settings of a trainer.
void describe_settings(const Trainer& trainer, std::map<std::string, std::string>& texts);

}  // namespace detail

}  // namespace dynet_like
