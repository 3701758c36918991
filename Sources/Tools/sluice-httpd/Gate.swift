import CPlatform
import CWorker
import FrontWire
import Glibc
import HTTPServer
import Platform
import Wire

/// Hands requests to the coordinator, and its answers to the clients.
final class Gate: RequestHandler {
  private let line: CoordinatorLine
  private let loop: EventLoop
  /// Requests that the coordinator knows of, and that have not ended.
  private var exchanges: [UInt64: Exchange] = [:]
  /// Requests for a row, which are asked together once the loop has turned.
  private var quick: [FrontRequest] = []
  /// Ends that the coordinator is told of once the loop has turned and nothing was asked, or they are many: a frame for each would wake
  /// it as often as requests do.
  private var ends: [UInt64: FrontEnd] = [:]
  /// No process before this one has used a number above the time of its start: what is told of its requests meets none of these.
  private var last = Clock.monotonic()
  private var server: Server?
  private var writer: FileWriter?
  private var isDraining = false

  /// Requests for a row that the coordinator has been asked and has not answered. While there are some, others wait for the answer
  /// and are asked together: as many as come while it works, so that the busier it is the fewer frames wake it.
  private var unanswered = 0
  /// When the first in ``quick`` came, in nanoseconds.
  private var quickSince: UInt64 = 0

  /// What an exchange remembers.
  private final class Number {
    let serial: UInt64
    /// It is one of ``Gate/unanswered``.
    var isUnanswered = false

    init(_ serial: UInt64) { self.serial = serial }
  }

  private init(_ loop: EventLoop) {
    (self.loop, line) = (loop, CoordinatorLine(loop))
  }

  /// Serves until the coordinator says that it is enough, or ends.
  static func serve() throws {
    let pulse = Pulse()
    let loop = try EventLoop()
    let gate = Gate(loop)
    let (setup, sockets) = try gate.line.receiveSetup()
    var limits = ServerLimits()
    (limits.connections, limits.perAddress) = (Int(setup.connections), Int(setup.perAddress))
    limits.proxies = setup.proxies.compactMap { AddressRange($0) }
    let server = Server(loop, limits, handler: gate)
    gate.server = server
    for socket in sockets { try server.listen(on: Descriptor(owning: dup(socket.number))) }
    try gate.line.listen { [unowned gate] frame, descriptor in gate.take(try ToFront(frame), descriptor) }
    // The C library looks for the time zone's file once, even of one that has none.
    tzset()
    // So does OpenSSL for its configuration.
    _ = (try MessageDigest(.sha256), try MessageDigest(.sha1))
    let level = try Sandbox.close(
      descriptors: setup.connections + Self.ownDescriptors, longestFile: setup.longestFile,
      memory: setup.memory, isRequired: setup.requiresSandbox)
    loop.onTurn { [unowned gate] in
      // While more is asked, the ends wait for those that follow: each frame wakes the coordinator.
      if gate.quick.isEmpty && gate.unanswered == 0 || gate.ends.count >= Self.manyEnds { gate.tellEnds() }
      if gate.unanswered == 0 || Clock.monotonic() > gate.quickSince + Self.patience { gate.askQuick() }
    }
    gate.writer = try FileWriter(loop, server.blocks)
    gate.line.send(.serving(sandbox: level))
    gate.loop.onTick { [unowned gate] in
      pulse.beat()
      gate.endWhereDrained()
    }
    try loop.run()
    server.closeAll()
  }

  private static let manyEnds = 64
  /// Nanoseconds that a request for a row waits for the answer to others, at most, while the loop turns.
  private static let patience: UInt64 = 500_000

  /// Descriptors beside those of connections: files that are sent, and the few of its own.
  private static let ownDescriptors: UInt32 = 2048

  // MARK: What clients ask

  /// Where more requests wait for the coordinator than are kept (RFC 9457).
  private static var crowded: Response {
    let body =
      #"{"status":503,"code":"busy","detail":"too many requests wait","remedy":"try again in a second"}"#
    return Response(
      503,
      [
        ("Retry-After", "1"), ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
      ], .bytes(Array((body + "\n").utf8)))
  }

  func begin(_ exchange: Exchange) {
    let target: RequestTarget
    do {
      target = try RequestTarget(exchange.head.target)
    } catch {
      return exchange.answer(.text(error.status, error.reason + "\n"))
    }
    // Whether this process lives is not the coordinator's to say.
    if target.segments == ["livez"] { return exchange.answer(Self.liveness(exchange.head.method)) }
    if line.isCrowded {
      return exchange.answer(Self.crowded)
    }
    last += 1
    let request = FrontRequest(
      serial: last, method: exchange.head.method, segments: target.segments,
      query: target.query.map { FrontRequest.Pair($0.name, $0.value) },
      fields: exchange.head.pairs(FrontRequest.Pair.init),
      body: Self.body(exchange.head.framing), peer: exchange.peer.address)
    if Self.isQuick(request) {
      exchange.context = Number(last)
      exchanges[last] = exchange
      if quick.isEmpty { quickSince = exchange.began }
      quick.append(request)
      if quick.count == FromFront.mostRequests { askQuick() }
      return
    }
    let frame = FromFront.request(request).frame
    guard frame.count <= Frame.limit else {
      return exchange.answer(.text(431, "the request is too long\n"))
    }
    // What has ended before it was asked is known when it is answered.
    tellEnds()
    exchange.context = Number(last)
    exchanges[last] = exchange
    line.send(frame)
  }

  /// Whether it asks for one attachment, or the version: what is answered from a few rows may wait for others that are, and a frame for
  /// each would cost as much as the answer.
  private static func isQuick(_ request: FrontRequest) -> Bool {
    guard request.method == "GET" || request.method == "HEAD" else { return false }
    let asksForRow = request.segments.count == 3 && request.segments[1] == "attachments"
    return (asksForRow || request.segments == ["version"])
      && request.size <= Frame.limit / (2 * FromFront.mostRequests)
  }

  private func askQuick() {
    if quick.isEmpty { return }
    for request in quick {
      guard let number = exchanges[request.serial]?.context as? Number else { continue }
      number.isUnanswered = true
      unanswered += 1
    }
    line.send(.requests(quick))
    quick.removeAll(keepingCapacity: true)
  }

  private static func liveness(_ method: String) -> Response {
    if method == "GET" || method == "HEAD" { return .text(200, "ok\n") }
    return .text(405, "this path knows GET and HEAD\n", [("Allow", "GET, HEAD")])
  }

  func ended(_ exchange: Exchange) {
    guard let number = exchange.context as? Number else { return }
    noteAnswer(to: exchange)
    exchanges[number.serial] = nil
    ends[number.serial] = FrontEnd(
      status: exchange.status, received: exchange.received, sent: exchange.sent,
      microseconds: Int64((Clock.monotonic() - exchange.began) / 1000), isWhole: exchange.isWhole)
    if ends.count == FromFront.mostEnds { tellEnds() }
  }

  private func tellEnds() {
    if ends.isEmpty { return }
    // No request ends before it has begun.
    askQuick()
    line.send(.ended(ends))
    ends.removeAll(keepingCapacity: true)
  }

  private static func body(_ framing: RequestHead.Framing) -> FrontRequest.Body {
    switch framing {
    case .none: .none
    case .length(let count): .length(count)
    case .chunked: .unknown
    }
  }

  // MARK: What the coordinator says

  private func take(_ message: ToFront, _ descriptor: SharedDescriptor?) {
    switch message {
    case .serve: break
    case .reply(let serial, let reply): answer(serial, Self.response(reply, descriptor))
    case .replies(let replies): for each in replies { answer(each.serial, Self.response(each.reply, nil)) }
    case .inform(let serial, let reply):
      exchanges[serial]?.inform(reply.status, reply.fields.map { ($0.name, $0.value) })
    case .part(let serial, let bytes): exchanges[serial]?.send(bytes)
    case .parts(let serials, let bytes): for serial in serials { exchanges[serial]?.send(bytes) }
    case .finish(let serial): exchanges[serial]?.finish()
    case .takeBody(let serial, let limit):
      guard let exchange = exchanges[serial] else { return line.send(.cut(serial: serial, isTooLong: false)) }
      // An empty body comes with its head.
      if exchange.head.framing == .none { return line.send(.body(serial: serial, [])) }
      exchange.readBody(into: BodyRelay(serial, line, limit: limit))
    case .store(let serial, let order):
      // It is told what came of it, also where the client has left.
      let onEnd = { [line] in line.send(.stored(serial: serial, $0)) }
      guard let exchange = exchanges[serial], let descriptor, let writer else {
        return onEnd(Stored(bytes: 0, isWhole: false))
      }
      // An empty body comes with its head.
      if exchange.head.framing == .none { return onEnd(Stored(bytes: 0, isWhole: true)) }
      guard let body = StoredBody(exchange, descriptor, order, writer, onEnd: onEnd) else {
        return onEnd(Stored(bytes: 0, isWhole: false, isMalformed: true))
      }
      exchange.readBody(into: body)
    case .abort(let serial): exchanges[serial]?.abort()
    case .drain:
      isDraining = true
      server?.drain()
      endWhereDrained()
    }
  }

  private func answer(_ serial: UInt64, _ response: Response) {
    guard let exchange = exchanges[serial] else { return }
    noteAnswer(to: exchange)
    exchange.answer(response)
  }

  private func noteAnswer(to exchange: Exchange) {
    guard let number = exchange.context as? Number, number.isUnanswered else { return }
    number.isUnanswered = false
    unanswered -= 1
  }

  private static func response(_ reply: FrontReply, _ descriptor: SharedDescriptor?) -> Response {
    let fields = reply.fields.map { (name: $0.name, value: $0.value) }
    switch reply.content {
    case .none: return Response(reply.status, fields)
    case .bytes(let bytes): return Response(reply.status, fields, .bytes(bytes))
    case .stream: return Response(reply.status, fields, .stream)
    case .file(let range, let isEncoded):
      guard let descriptor else { return .text(500, "the file was not handed over\n") }
      return Response(
        reply.status, fields, isEncoded ? .encodedFile(descriptor, range) : .file(descriptor, range))
    }
  }

  private func endWhereDrained() {
    if isDraining && server?.count == 0 && ends.isEmpty && line.isClear { loop.stop() }
  }
}

/// Hands the body of a request to the coordinator, once it is whole.
private final class BodyRelay: BodySink {
  private let serial: UInt64
  private let line: CoordinatorLine
  private let limit: Int
  private var body: [UInt8] = []
  private var isTooLong = false

  init(_ serial: UInt64, _ line: CoordinatorLine, limit: Int64) {
    (self.serial, self.line) = (serial, line)
    self.limit = Int(max(min(limit, FrontReply.bodyLimit), 0))
  }

  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if isTooLong { return true }
    if body.count + bytes.count > limit {
      isTooLong = true
      body = []
      line.send(.cut(serial: serial, isTooLong: true))
    } else {
      body += bytes
    }
    return true
  }

  func end() {
    if !isTooLong { line.send(.body(serial: serial, body)) }
  }

  func cut() {
    if !isTooLong { line.send(.cut(serial: serial, isTooLong: false)) }
  }
}
