import Glibc
import Platform

/// One connection of a client: its requests are read one after the other, each after the answer to the one before.
///
/// What a client sends too early waits in ``backlog``, at most as much as came with one read. While nothing is read, no buffer is
/// kept. Every end goes through ``close()``.
final class Connection {
  /// What becomes of the bytes that come.
  enum Reading {
    case head
    /// A body comes, and the handler has not asked for it yet.
    case undecided
    case body
    /// The request is whole: what follows waits for the answer.
    case over
    /// The answer came before the body: so many more bytes are dropped, then the connection is closed.
    case lingering(bytes: Int)
  }

  unowned let server: Server
  let socket: Int32
  let peer: Peer
  private let parser: RequestParser
  private var watch: EventLoop.Watch?
  private var interest = EventLoop.Interest(reads: true)
  private(set) var reading = Reading.head
  private var backlog: [UInt8] = []
  private var output = Output()
  private(set) var exchange: Exchange?
  private var hasAnswered = false
  private var isStream = false
  private var isChunked = false
  /// Whether it goes on after this answer.
  private var keeps = true
  private var isPaused = false
  private(set) var isClosed = false
  /// Guards against a call of ``proceed(_:)`` within another: a handler answers while its request is being read.
  private var isProceeding = false

  // For deadlines, in milliseconds of the monotonic clock.
  private var headSince: UInt64 = 0
  private var idleSince: UInt64
  private var bodySince: UInt64 = 0
  private var bodyBytes: Int64 = 0
  private var writeSince: UInt64 = 0
  private var lingerSince: UInt64 = 0

  private var limits: ServerLimits { server.limits }
  private var now: UInt64 { server.loop.now }

  init(_ server: Server, _ socket: Int32, _ peer: Peer) throws(SystemError) {
    (self.server, self.socket, self.peer) = (server, socket, peer)
    parser = RequestParser(server.limits.request)
    idleSince = server.loop.now
    watch = try server.loop.watch(socket, interest) { [unowned self] in take($0) }
  }

  // MARK: What the loop tells

  private func take(_ readiness: EventLoop.Readiness) {
    if readiness.writable { flush() }
    if readiness.readable && reads {
      read()
    } else if readiness.readable && !readiness.isOver {
      // It comes too early: it waits in the kernel, and from now on the end alone is told.
      listen(reads: false)
    } else if readiness.isOver {
      // It sends no more: it has left, as far as anybody can tell, and a stream or an upload must end at once.
      close()
    }
  }

  private func read() {
    if isClosed { return }
    server.blocks.read { buffer in
      // What belongs to no body may have to be kept: little of it is read at once.
      let most = max(Server.shortRead, Int(min(parser.bodyLeft, Int64(buffer.count))))
      let count = recv(socket, buffer.baseAddress, most, 0)
      if count > 0 { return proceed(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
      if count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) { return }
      close()
    }
  }

  /// Takes bytes as far as they belong to what is being read; the rest waits.
  private func proceed(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    isProceeding = true
    defer { isProceeding = false }
    while !rest.isEmpty && !isClosed {
      do throws(RequestFault) {
        switch reading {
        case .head: rest = try takeHead(rest)
        case .body where !isPaused: rest = try takeBody(rest)
        case .lingering(let bytes):
          if bytes <= rest.count { return close() }
          reading = .lingering(bytes: bytes - rest.count)
          idleSince = now
          return
        default:
          backlog.append(contentsOf: rest)
          listen()
          return
        }
      } catch {
        return refuse(error)
      }
    }
    listen()
  }

  private func takeHead(_ bytes: UnsafeRawBufferPointer) throws(RequestFault) -> UnsafeRawBufferPointer {
    if headSince == 0 { headSince = now }
    let (taken, head) = try parser.takeHead(bytes)
    let rest = UnsafeRawBufferPointer(rebasing: bytes[taken...])
    guard let head else { return rest }
    headSince = 0
    let exchange = Exchange(head, peer, began: Clock.monotonic(), self)
    self.exchange = exchange
    (hasAnswered, isStream, isChunked, isPaused) = (false, false, false, false)
    keeps = head.keepsAlive
    reading = head.framing == .none ? .over : .undecided
    server.handler.begin(exchange)
    return rest
  }

  private func takeBody(_ bytes: UnsafeRawBufferPointer) throws(RequestFault) -> UnsafeRawBufferPointer {
    guard let exchange, let sink = exchange.sink else { return bytes }
    var wantsMore = true
    let (taken, isWhole) = try parser.takeBody(bytes) { piece in
      exchange.received += Int64(piece.count)
      bodyBytes += Int64(piece.count)
      if !sink.take(piece) { wantsMore = false }
    }
    if isWhole {
      exchange.sink = nil
      reading = .over
      sink.end()
    } else if !wantsMore {
      isPaused = true
    }
    return UnsafeRawBufferPointer(rebasing: bytes[taken...])
  }

  /// Goes on with what came too early.
  private func proceedWithBacklog() {
    if isProceeding || backlog.isEmpty { return listen() }
    let bytes = backlog
    backlog = []
    bytes.withUnsafeBytes { proceed($0) }
  }

  /// Answers what breaks the rules. Where the next request begins is not known any more.
  private func refuse(_ fault: RequestFault) {
    if let exchange, !hasAnswered {
      cutBody()
      return answer(exchange, server.refusal(fault))
    }
    if exchange != nil { return close() }
    keeps = false
    let response = server.refusal(fault)
    output.add(response.head(for: nil, keeps: false, isChunked: false, date: server.date))
    if case .bytes(let bytes) = response.body { output.add(bytes) }
    server.refused(fault, peer)
    beginLingering()
    flush()
  }

  // MARK: What the handler asks for

  func readBody(of exchange: Exchange, into sink: any BodySink) {
    guard exchange === self.exchange, case .undecided = reading, !isClosed else { return sink.cut() }
    exchange.sink = sink
    reading = .body
    (bodySince, bodyBytes) = (now, 0)
    if exchange.head.expectsContinue && backlog.isEmpty {
      output.add(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
      flush()
    }
    proceedWithBacklog()
  }

  func resumeBody(of exchange: Exchange) {
    guard exchange === self.exchange, isPaused, !isClosed else { return }
    isPaused = false
    (bodySince, bodyBytes) = (now, 0)
    proceedWithBacklog()
  }

  /// A client of HTTP/1.0 would take it for the answer.
  func inform(_ exchange: Exchange, _ response: Response) {
    guard exchange === self.exchange, !hasAnswered, !isClosed, exchange.head.minorVersion == 1 else { return }
    output.add(response.interimHead)
    flush()
  }

  func answer(_ exchange: Exchange, _ response: Response) {
    guard exchange === self.exchange, !hasAnswered, !isClosed else { return }
    hasAnswered = true
    exchange.status = response.status
    if case .over = reading {
    } else {
      cutBody()
      keeps = false
    }
    if server.isDraining { keeps = false }
    if case .stream = response.body, !response.hasNoBody {
      isStream = exchange.head.method != "HEAD"
      isChunked = exchange.head.minorVersion == 1
      if !isChunked { keeps = false }
    }
    output.add(
      response.head(for: exchange.head, keeps: keeps, isChunked: isChunked, date: server.date))
    // There may be thousands that last for hours.
    if isStream { exchange.head.dropFields() }
    if !response.hasNoBody && exchange.head.method != "HEAD" {
      switch response.body {
      case .none, .stream: break
      case .bytes(let bytes): output.add(bytes)
      case .file(let file, let range): output.add(file, range)
      case .encodedFile(let file, let range): output.addEncoded(file, range)
      }
    }
    flush()
  }

  func send(_ bytes: [UInt8], of exchange: Exchange) -> Bool {
    guard exchange === self.exchange, isStream, !isClosed else { return false }
    if bytes.isEmpty { return true }
    output.add(
      isChunked ? Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A] : bytes)
    flush()
    if output.pending > limits.streamBacklog { close() }
    return !isClosed
  }

  func finish(_ exchange: Exchange) {
    guard exchange === self.exchange, isStream, !isClosed else { return }
    isStream = false
    if isChunked { output.add(Array("0\r\n\r\n".utf8)) }
    flush()
  }

  // MARK: Writing

  private func flush() {
    if isClosed { return }
    if !interest.writes { writeSince = now }
    let result = output.write(to: socket) { count in
      exchange?.sent += Int64(count)
      writeSince = now
    }
    switch result {
    case .broken: close()
    case .some: listen()
    case .all: written()
    }
  }

  /// All that there was is with the kernel.
  private func written() {
    if case .lingering = reading {
      // The other half stays open until the client has read the answer.
      shutdown(socket, Int32(SHUT_WR))
      return listen()
    }
    guard let exchange, hasAnswered, !isStream else { return listen() }
    let isEarly = if case .over = reading { false } else { true }
    exchange.isWhole = true
    end(exchange)
    if isEarly {
      beginLingering()
      return written()
    }
    if !keeps { return close() }
    reading = .head
    idleSince = now
    proceedWithBacklog()
  }

  private func beginLingering() {
    reading = .lingering(bytes: limits.lingerBytes)
    (lingerSince, idleSince) = (now, now)
    backlog = []
  }

  // MARK: Ends

  private func cutBody() {
    guard let sink = exchange?.sink else { return }
    exchange?.sink = nil
    sink.cut()
  }

  private func end(_ exchange: Exchange) {
    self.exchange = nil
    exchange.connection = nil
    server.handler.ended(exchange)
  }

  func close() {
    if isClosed { return }
    isClosed = true
    cutBody()
    if let exchange { end(exchange) }
    if let watch { server.loop.forget(watch) }
    Glibc.close(socket)
    server.closed(self)
  }

  /// Ends it at the next occasion: at once, where no request is under way.
  func drain() {
    keeps = false
    if exchange == nil, case .head = reading, parser.isIdle { close() }
  }

  /// Closes it where its client is too slow.
  func checkDeadlines(_ now: UInt64) {
    func hasPassed(_ limit: UInt64, since: UInt64) -> Bool { now > since && now - since > limit }
    if !output.isEmpty, hasPassed(limits.writeTime, since: writeSince) { return close() }
    switch reading {
    case .head:
      if headSince > 0 {
        if hasPassed(limits.headTime, since: headSince) {
          refuse(RequestFault(408, "the head of the request took longer than \(limits.headTime / 1000) s"))
        }
      } else if exchange == nil, hasPassed(limits.idleTime, since: idleSince) {
        close()
      }
    case .body where !isPaused:
      guard hasPassed(limits.bodyTime, since: bodySince) else { return }
      if bodyBytes < Int64(limits.bodyTime) / 1000 * Int64(limits.bodyRate) {
        return refuse(
          RequestFault(408, "the body came with less than \(limits.bodyRate) bytes a second"))
      }
      (bodySince, bodyBytes) = (now, 0)
    case .lingering:
      if hasPassed(limits.lingerTime, since: lingerSince) || hasPassed(limits.lingerSilence, since: idleSince)
      {
        close()
      }
    default: break
    }
  }

  /// Whether it takes what comes.
  private var reads: Bool {
    switch reading {
    case .head, .lingering: true
    case .body: !isPaused && backlog.isEmpty
    case .over, .undecided: false
    }
  }

  /// Tells the loop what it waits for. Most clients send nothing before they have their answer: that it does not read meanwhile, the
  /// loop is told only where something comes.
  private func listen() { listen(reads: reads || interest.reads) }

  private func listen(reads: Bool) {
    guard let watch, !isClosed else { return }
    let wanted = EventLoop.Interest(reads: reads, writes: !output.isEmpty)
    if wanted == interest { return }
    interest = wanted
    server.loop.change(watch, wanted)
  }
}
