import CPlatform
import Glibc
import HTTPServer
import Platform

/// One connection of a client. Outside a session it has one command; in a session it has any number, and answers bear their numbers.
final class ClamdConnection {
  unowned let server: ClamdServer
  private let socket: Int32
  private let door: UInt32
  let peer: PeerName
  private var watch: EventLoop.Watch?
  private var interest = EventLoop.Interest(reads: true)
  private var parser = ClamdParser()
  /// Commands of the session so far; `nil`: there is none.
  private var commands: Int?
  /// Whose content is coming.
  private var current: ClamdJob?
  private var jobs: [ObjectIdentifier: ClamdJob] = [:]
  /// A descriptor is to come, with one byte that means nothing: for this command of the session.
  private var awaited: (number: Int?, terminator: UInt8)?
  /// The last one that came and that no command has taken.
  private var descriptor: SharedDescriptor?
  /// Another came before the one that a command waits with was used: which belongs to which is not known.
  private var isDescriptorUnsure = false
  private var backlog: [UInt8] = []
  private var terminator = UInt8(ascii: "\n")
  private var output: [UInt8] = []
  /// It is closed once all is answered and written.
  private var isEnding = false
  /// The client sends no more than what has come.
  private var isOver = false
  /// What comes is dropped, so that the client can read the answer.
  private var lingering: (since: UInt64, bytes: Int)?
  private var isProceeding = false
  private(set) var isClosed = false

  // In milliseconds of the monotonic clock.
  private var idleSince = ClamdServer.now
  /// When it last had a content, or began.
  private(set) var contentAt = ClamdServer.now
  private var writeSince: UInt64 = 0

  private var limits: ClamdServer.Limits { server.limits }

  init(_ server: ClamdServer, _ socket: Int32, _ door: UInt32, _ peer: PeerName) throws(SystemError) {
    (self.server, self.socket, self.door, self.peer) = (server, socket, door, peer)
    watch = try server.loop.watch(socket, interest) { [unowned self] in take($0) }
  }

  var jobCount: Int { jobs.count }

  /// Whether a content of it waits for its place.
  var hasWaiting: Bool { jobs.values.contains { $0.limit == nil } }

  // MARK: Reading

  private func take(_ readiness: EventLoop.Readiness) {
    if readiness.writable { flush() }
    if isClosed { return }
    if readiness.readable && isReading { return read() }
    if !readiness.isOver || readiness.readable { return }
    // It has left; or it sends no more, and still gets its answers. What it has sent is read in its time.
    if readiness.isClosed || jobs.isEmpty { return close() }
    forgetSocket()
  }

  /// Its end would be told for ever.
  private func forgetSocket() {
    if let watch { server.loop.forget(watch) }
    watch = nil
  }

  private var isReading: Bool {
    !isOver && (lingering != nil || !isEnding && !isBlocked && backlog.isEmpty)
  }

  /// Whether what comes has to wait.
  private var isBlocked: Bool {
    if output.count >= limits.outputBytes { return true }
    if let current { return current.limit == nil || current.isPaused }
    return jobs.count >= limits.jobs || fileCount >= limits.files
  }

  private var fileCount: Int { jobs.values.count(where: \.isFile) }

  private func read() {
    server.withBuffer { buffer in
      var numbers: (Int32, Int32, Int32, Int32) = (-1, -1, -1, -1)
      var count: Int32 = 4
      let length = withUnsafeMutableBytes(of: &numbers) {
        sluice_receive(
          socket, buffer.baseAddress, buffer.count, $0.baseAddress?.assumingMemoryBound(to: Int32.self),
          &count,
          1)
      }
      let all = [numbers.0, numbers.1, numbers.2, numbers.3].prefix(Int(max(count, 0)))
        .map { SharedDescriptor(Descriptor(owning: $0)) }
      // One read brings those of one message at most. One that no command asked for does not stand in for the next.
      if let first = all.first {
        isDescriptorUnsure = awaited != nil && descriptor != nil
        descriptor = first
      }
      if length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) { return }
      if length < 0 { return close() }
      if length == 0 { return takeEnd() }
      proceed(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
    }
  }

  /// The client sends no more.
  private func takeEnd() {
    isOver = true
    if lingering != nil { return jobs.isEmpty ? close() : forgetSocket() }
    // A content that is not whole is not judged.
    guard current == nil, awaited == nil else { return close() }
    if let command = parser.end() { obey(command) }
    if isClosed { return }
    // Nor is one that never began.
    guard current == nil, awaited == nil else { return close() }
    isEnding = true
    closeWhereDone()
    if !isClosed { forgetSocket() }
  }

  /// Goes on with what had to wait.
  func proceed() {
    if isProceeding || isClosed { return }
    let bytes = backlog
    backlog = []
    bytes.withUnsafeBytes { proceed($0) }
  }

  private func proceed(_ bytes: UnsafeRawBufferPointer) {
    if isClosed { return }
    isProceeding = true
    defer {
      isProceeding = false
      listen()
    }
    var rest = bytes
    while !rest.isEmpty && !isClosed {
      if let lingering {
        let left = lingering.bytes - rest.count
        self.lingering?.bytes = left
        if left <= 0 { close() }
        return
      }
      if isEnding { return }
      if isBlocked { return backlog.append(contentsOf: rest) }
      if let awaited {
        rest = UnsafeRawBufferPointer(rebasing: rest[1...])
        self.awaited = nil
        takeDescriptor(awaited.number)
        continue
      }
      do throws(ClamdFault) {
        let (taken, event) = try parser.take(rest)
        rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        switch event {
        case .command(let command): obey(command)
        case .content(let bytes): take(bytes)
        case .end: endContent()
        case nil: break
        }
      } catch {
        return refuse("COMMAND READ TIMED OUT OR TOO LONG")
      }
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    guard let job = current, let limit = job.limit else { return }
    job.received += Int64(bytes.count)
    if job.received > limit {
      drop(job)
      return refuse(numbered("INSTREAM size limit exceeded. ERROR", job.number))
    }
    if !server.handler.take(bytes, of: job) { job.isPaused = true }
  }

  private func endContent() {
    guard let job = current else { return }
    current = nil
    idleSince = ClamdServer.now
    if commands == nil { isEnding = true }
    server.handler.end(job)
  }

  // MARK: Commands

  private func obey(_ command: ClamdCommand) {
    terminator = command.terminator
    idleSince = ClamdServer.now
    switch command.verb {
    case .session? where commands == nil:
      commands = 0
      return
    case .end? where commands != nil:
      isEnding = true
      return closeWhereDone()
    default: break
    }
    if let count = commands { commands = count + 1 }
    let number = commands
    switch command.verb {
    case .inStream?:
      parser.expectContent()
      begin(ClamdJob(.stream, door: door, peer: peer.text, number: number, self), isStream: true)
      return
    case .fileDescriptor? where peer.isLocal:
      awaited = (number, command.terminator)
      return
    case .ping?: say("PONG", number)
    case .version?: say(server.version, number)
    case .commands?:
      let words = ClamdCommand.Verb.allCases.filter(\.isServed).map(\.rawValue)
      say("\(server.version)| COMMANDS: \(words.joined(separator: " "))", number)
    case .stats?:
      say(
        "POOLS: 1\n\nSTATE: VALID PRIMARY\nTHREADS: live 1  idle 0 max \(limits.connections) idle-timeout "
          + "\(limits.commandTime / 1000)\nQUEUE: \(server.jobs) items\n\nMEMSTATS: heap N/A mmap N/A used N/A free N/A "
          + "releasable N/A pools 1 pools_used N/A pools_total N/A\nEND", number)
    case .fileDescriptor?: say("FILDES needs a Unix socket. ERROR", number)
    case let verb? where verb.takesPath:
      say("\(command.argument): no path is opened here, send the content with INSTREAM. ERROR", number)
    case .reload?, .shutdown?: say("COMMAND UNAVAILABLE", number)
    default: say("UNKNOWN COMMAND", number)
    }
    if commands == nil { isEnding = true }
    closeWhereDone()
  }

  private func takeDescriptor(_ number: Int?) {
    guard let descriptor else {
      say("No file descriptor received. ERROR", number)
      if commands == nil { isEnding = true }
      return closeWhereDone()
    }
    self.descriptor = nil
    if isDescriptorUnsure {
      say("A second file descriptor came before the byte of the first. ERROR", number)
      isEnding = true
      return closeWhereDone()
    }
    begin(ClamdJob(.file(descriptor), door: door, peer: peer.text, number: number, self), isStream: false)
  }

  private func begin(_ job: ClamdJob, isStream: Bool) {
    jobs[ObjectIdentifier(job)] = job
    contentAt = ClamdServer.now
    if isStream { current = job }
    // One command for each connection, unless it has a session.
    if commands == nil && !isStream { isEnding = true }
    server.handler.begin(job)
  }

  // MARK: Answers

  func answer(_ job: ClamdJob, _ text: String) {
    guard jobs.removeValue(forKey: ObjectIdentifier(job)) != nil else { return }
    job.connection = nil
    (idleSince, contentAt) = (ClamdServer.now, ClamdServer.now)
    // It has as long to read this answer.
    if jobs.isEmpty { lingering?.since = idleSince }
    if current === job {
      // The rest of its content is not wanted, and where the next command begins is not known.
      current = nil
      return refuse(numbered("\(job.label): \(text)", job.number))
    }
    say("\(job.label): \(text)", job.number)
    if commands == nil || server.isDraining { isEnding = true }
    closeWhereDone()
    proceed()
  }

  private func numbered(_ text: String, _ number: Int?) -> String { number.map { "\($0): \(text)" } ?? text }

  private func say(_ text: String, _ number: Int?) {
    output += Array(numbered(text, number).utf8)
    output.append(terminator)
    flush()
  }

  /// Says why it ends, and drops what still comes. Contents of the session that are whole have their answers.
  private func refuse(_ text: String) {
    if let current { drop(current) }
    output += Array(text.utf8)
    output.append(terminator)
    (isEnding, lingering) = (true, (ClamdServer.now, limits.lingerBytes))
    backlog = []
    flush()
  }

  private func drop(_ job: ClamdJob) {
    guard jobs.removeValue(forKey: ObjectIdentifier(job)) != nil else { return }
    if current === job { current = nil }
    job.connection = nil
    server.handler.drop(job)
  }

  // MARK: Writing

  private func flush() {
    if isClosed || output.isEmpty { return }
    if !interest.writes { writeSince = ClamdServer.now }
    let count = output.withUnsafeBytes {
      send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    if count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR { return close() }
    if count > 0 { output.removeFirst(count) }
    if output.isEmpty && jobs.isEmpty && lingering != nil { shutdown(socket, Int32(SHUT_WR)) }
    // A client that sends no more is not heard of again.
    if watch == nil && !output.isEmpty { return close() }
    closeWhereDone()
    proceed()
  }

  private func closeWhereDone() {
    if isEnding, jobs.isEmpty, output.isEmpty, lingering == nil || isOver { close() }
  }

  private func listen() {
    if isClosed { return }
    let wanted = EventLoop.Interest(reads: isReading, writes: !output.isEmpty)
    guard let watch else {
      // What it sent before its end is wanted now.
      if wanted.reads { watchAgain(wanted) }
      return
    }
    if wanted == interest { return }
    interest = wanted
    server.loop.change(watch, wanted)
  }

  private func watchAgain(_ wanted: EventLoop.Interest) {
    interest = wanted
    do throws(SystemError) {
      watch = try server.loop.watch(socket, wanted) { [unowned self] in take($0) }
    } catch {
      close()
    }
  }

  // MARK: Ends

  func close() {
    if isClosed { return }
    isClosed = true
    for job in jobs.values { drop(job) }
    forgetSocket()
    Glibc.close(socket)
    server.closed(self)
  }

  /// Ends it where nothing is under way.
  func drain() {
    isEnding = isEnding || current == nil && awaited == nil && parser.isIdle
    closeWhereDone()
    listen()
  }

  /// - Parameter isCrowded: contents wait for a place.
  /// Whether it has had no content for as long as a peer may that has most of the connections.
  func isQuiet(_ now: UInt64) -> Bool {
    jobs.isEmpty && now > contentAt && now - contentAt > limits.quietTime
  }

  func checkDeadlines(_ now: UInt64, isCrowded: Bool) {
    func hasPassed(_ limit: UInt64, since: UInt64) -> Bool { now > since && now - since > limit }
    if !output.isEmpty, hasPassed(limits.writeTime, since: writeSince) { return close() }
    // What judges has a deadline of its own; a file that a client has open may hang.
    if jobs.values.contains(where: { $0.limit != nil && hasPassed(limits.jobTime, since: $0.since) }) {
      for job in jobs.values { drop(job) }
      return refuse(numbered("not decided in \(limits.jobTime / 1000) s. ERROR", nil))
    }
    if let lingering {
      if jobs.isEmpty, hasPassed(limits.lingerTime, since: lingering.since) { close() }
    } else if let current {
      if current.limit != nil, hasPassed(limits.contentTime, since: current.since) {
        refuse(
          numbered(
            "INSTREAM: the content took longer than \(limits.contentTime / 1000) s. ERROR", current.number))
      } else if current.limit != nil, current.isSlow(limits, at: now), isCrowded {
        refuse(numbered("INSTREAM: the content came too slowly while others waited. ERROR", current.number))
      }
    } else if jobs.isEmpty, hasPassed(limits.commandTime, since: idleSince) {
      close()
    }
  }
}
