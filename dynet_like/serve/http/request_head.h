// What RFC 9110 and 9112 demand of the head of a request, beyond what Boost.Beast's parser looks
// at.
#pragma once

#include <boost/beast/http/message.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

#include "dynet_like/serve/request_queue.h"

namespace dynet_like::serve {

using RequestFields = boost::beast::http::request_header<>;

constexpr std::size_t kHeadBytes = 8 << 10;

/// The first head in what a client has sent: its size with the empty line that ends it, 0 if more
/// is to come, or an answer if it is none, however it goes on.
struct FoundHead {
  std::size_t size = 0;
  std::optional<Answer> refusal = {};
};
FoundHead find_head(std::string_view bytes);

/// The answer if it is not clear what is asked for, or where the request ends. The connection must
/// be closed after it: what follows may be no request.
std::optional<Answer> refusal_of_fields(const RequestFields& fields);

/// The path of a request for this server, without a query: "*" of OPTIONS for the whole server.
std::string_view path_of(std::string_view target);

}  // namespace dynet_like::serve
