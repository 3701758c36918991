import FrontWire
import LedgerPort

extension API {
  /// A stream of what happens (Server-Sent Events).
  func events(_ request: FrontRequest, _ token: AccessToken?) -> Answer {
    let reply = FrontReply(
      200,
      [
        .init("Content-Type", "text/event-stream"), .init("Cache-Control", "no-store"),
        // So that nginx passes on what comes, as it comes.
        .init("X-Accel-Buffering", "no"), .init("X-Content-Type-Options", "nosniff"),
      ], .stream)
    // The polyfill of EventSource sends no fields of its own.
    let given = request.query.first { $0.name == "lastEventId" }?.value
    let presence = request.query.first { $0.name == "presence" }?.value
    if let presence, presence != "off" {
      return .reply(Self.invalid("presence", "is off, or is left out").reply)
    }
    let listener = EventStreams.Listener(
      user: token?.role == .user ? token?.name : nil, lastEventId: request.field("last-event-id") ?? given,
      isHidden: presence != nil)
    return request.method == "HEAD" ? .reply(FrontReply(200, reply.fields)) : .stream(reply, listener)
  }
}
