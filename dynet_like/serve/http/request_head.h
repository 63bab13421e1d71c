// Checks of the head of a request that RFC 9110 and 9112 demand, and that Boost.Beast's parser does
// not make.
#pragma once

#include <boost/beast/http/message.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

#include "dynet_like/serve/request_queue.h"

namespace dynet_like::serve {

using RequestFields = boost::beast::http::request_header<>;

constexpr std::size_t kHeadBytes = 8 << 10;

/// The first head in the bytes that a client has sent: its size with the empty line at its end, or
/// 0 if it is not complete; or an answer if it cannot become a head.
struct FoundHead {
  std::size_t size = 0;
  std::optional<Answer> refusal = {};
};
FoundHead find_head(std::string_view bytes);

/// The answer if it is not clear what the request asks for, or where it ends. Close the connection
/// after it: the bytes that follow may not be a request.
std::optional<Answer> refusal_of_fields(const RequestFields& fields);

/// The path of a request for this server, without the query; "*" for OPTIONS of the whole server.
std::string_view path_of(std::string_view target);

}  // namespace dynet_like::serve
