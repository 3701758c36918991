import CCurl
import Glibc
import Outbound
import StageKit

/// How a request ends, and what comes of it.
extension Fetch {
  enum Next {
    case ask
    case end(Outcome?)
  }

  /// What comes after a request that libcurl has ended.
  func next(after result: CURLcode, _ settings: Settings) -> Next {
    let next = self.next(result, settings)
    guard decision == nil, case .end(let outcome?) = next, outcome.code == MalformedAnswer.code,
      !request.isOnOwnConnection, request.usedKnownConnection
    else { return next }
    // What came may be the rest of the answer before, which was longer than it said.
    request.useOwnConnection()
    return .ask
  }

  private func next(_ result: CURLcode, _ settings: Settings) -> Next {
    if mustRestart { return restart() }
    if let fault { return .end(fault) }
    switch decision {
    case nil: return .end(failure(result, settings))
    case .content?:
      guard result == CURLE_OK else { return .end(brokenOff(result)) }
      let outcome = wholeBody()
      return mustRestart ? restart() : .end(outcome)
    case .redirect(let status, let target)?:
      do throws(Outcome) { try follow(status: status, to: target, settings) } catch { return .end(error) }
      return .ask
    case .restart?: return restart()
    case .end(let outcome)?: return .end(expiry(outcome) ?? outcome)
    }
  }

  /// What a refusal means if the body says that the time of the link is over; `nil`: nothing else.
  private func expiry(_ outcome: Outcome) -> Outcome? {
    guard outcome.code == "refused", let status = head?.status, (400..<500).contains(status),
      let code = ExpiryCode.found(in: explanation)
    else { return nil }
    return .fail("expired", "\(question.link.host) answered \(status): \(code)")
  }

  private func restart() -> Next {
    if question.hasRestarted {
      return .end(
        .retry("changed", "\(question.link.host): the content changed again while it was fetched"))
    }
    question.hasRestarted = true
    question.resume = nil
    return .ask
  }

  private func brokenOff(_ result: CURLcode) -> Outcome {
    // libcurl has several codes for chunks that are none (RFC 9112, section 7.1).
    if result == CURLE_BAD_FUNCTION_ARGUMENT || request.hasBrokenChunks {
      return MalformedAnswer("its body is not in chunks as it says").outcome(of: question.link.host)
    }
    let of = total.map { " of \($0)" } ?? ""
    return .retry(
      "short-body",
      "\(question.link.host) broke off after \(file.length)\(of) bytes: \(String(cString: curl_easy_strerror(result)))"
    )
  }

  /// There was no answer.
  private func failure(_ result: CURLcode, _ settings: Settings) -> Outcome {
    let host = question.link.host
    let reason = String(cString: curl_easy_strerror(result))
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST:
      return NetworkRoute.isMissingToNameServers
        ? .pause("offline", "this machine has no route to a name server")
        : .retry("name-not-found", "the name \(host) has no address")
    case CURLE_COULDNT_CONNECT:
      guard let refusal = request.gate.refusal else { return notConnected(host) }
      return cameFromPublic
        ? Redirect.portal(host)
        : .fail("address-not-allowed", "\(host): \(refusal)")
    case CURLE_OPERATION_TIMEDOUT:
      return .retry("unreachable", "there was no connection to \(host) within \(settings.connectTimeout) ms")
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
      return .retry("tls-failed", "no secure connection to \(host): \(request.tlsReason(result))")
    case CURLE_OK: return MalformedAnswer("it ends before its headers do").outcome(of: host)
    // libcurl's own bound on one line.
    case CURLE_OUT_OF_MEMORY: return MalformedAnswer("a header is too long").outcome(of: host)
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL,
      CURLE_BAD_CONTENT_ENCODING,
      CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_WRITE_ERROR:
      return MalformedAnswer(reason).outcome(of: host)
    default: return .retry("unreachable", "\(host) gave no answer: \(reason)")
    }
  }

  /// An address was allowed, and there is no connection to it.
  private func notConnected(_ host: String) -> Outcome {
    let addresses = request.gate.allowedAddresses
    // The route may be back by now. Of addresses of both families it is not known which had none.
    let hadNone = request.systemError == ENETUNREACH && Set(addresses.map(\.bytes.count)).count == 1
    if hadNone || NetworkRoute.isMissing(to: addresses) {
      return .pause("offline", "this machine has no route to \(host)")
    }
    return request.systemError == ECONNREFUSED
      ? .retry("connection-refused", "\(host) does not take connections")
      : .retry("unreachable", "there is no connection to \(host)")
  }

  /// What a failure of the file means. It is cut to what is known to be on disk.
  func fileFault(_ error: Int32) -> Outcome {
    _ = file.cut(to: file.synced)  // as well as it goes: what lies beyond the checkpoint does not count
    let reason = String(cString: strerror(error))
    if error == ENOSPC || error == EDQUOT {
      return .pause(
        "disk-full", "there is no room for the content (\(reason)): make room, then resume the lane")
    }
    return .retry("unwritable", "the file of the content: \(reason)")
  }

  /// Why a request that is under way takes too long; `nil`: it does not.
  func timeout(now: Int64, _ settings: Settings) -> Outcome? {
    if isHeld { return nil }
    let host = question.link.host
    if now - started >= settings.totalTimeout {
      return .retry(
        "timed-out", "\(host) took longer than \(settings.totalTimeout) ms; \(file.length) bytes are there")
    }
    if !isPaused && now - lastByte >= settings.idleTimeout {
      let sent = bytesSince == 0 ? "nothing" : "\(bytesSince) bytes"
      return .retry(
        "stalled", "\(host) sent \(sent) in \(settings.idleTimeout) ms; \(file.length) bytes are there")
    }
    return nil
  }

  /// Milliseconds of the clock at which ``timeout(now:_:)`` is to be asked again.
  func deadline(_ settings: Settings) -> Int64 {
    if isHeld { return .max }
    let total = started + settings.totalTimeout
    return isPaused ? total : min(total, lastByte + settings.idleTimeout)
  }
}
