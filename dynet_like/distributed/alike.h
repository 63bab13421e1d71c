// What ranks must have in common to train together.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

/// Throws UsageError, with what differs and on which ranks, unless all have the same texts by the
/// same names. `rule` begins the message: "[TrainingRun] need the same options".
void check_alike(Communicator& ranks, const std::string& rule,
                 const std::map<std::string, std::string>& mine);

namespace detail {

/// Of the names, shapes, flags and values of parameters. Equal on all ranks that have one
/// instruction set if these are; reads some 16 bytes a cycle.
std::uint64_t digest_of(const ParameterCollection& parameters);

/// The same for each parameter, as a text for check_alike().
void describe(const ParameterCollection& parameters, std::map<std::string, std::string>& texts);
/// Of the settings of a trainer, and of its moments and averages.
void describe_settings(const Trainer& trainer, std::map<std::string, std::string>& texts);
void describe_state(Trainer& trainer, std::map<std::string, std::string>& texts);

}  // namespace detail

}  // namespace dynet_like
