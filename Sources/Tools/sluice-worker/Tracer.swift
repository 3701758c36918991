import Wire

/// Tells what stages say and are told, as it happens, where the setup asks for that.
final class Tracer {
  private let socket: ControlSocket
  /// Lines told. A stage that talks without end must not fill the socket for ever: the sender waits for room.
  private var count = 0
  /// The tenths of progress last told: stages report it as often as they like.
  private var tenths = -1
  private static let most = 10_000

  init(_ socket: ControlSocket) {
    self.socket = socket
  }

  func tell(_ stage: String, _ call: String, _ text: String) {
    if call == "progress" {
      let now = Int((Double(text) ?? 0) * 10)
      if now == tenths { return }
      tenths = now
    }
    count += 1
    if count > Self.most { return }
    let text = count == Self.most ? "no more is told" : Call.cut(text, to: TraceLine.limit)
    socket.send(TraceLine(stage: stage, call: call, text: text).frame)
  }
}
