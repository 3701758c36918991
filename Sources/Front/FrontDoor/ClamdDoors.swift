import CPlatform
import FrontWire
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Scheduler
import Synchronization
import Wire
import Workers

/// The doors for clients of ClamAV's daemon: a process without rights that speaks with them, and a thread of this one that has their
/// contents judged.
///
/// A content lies in a file without a name, so that nothing is left of it whatever happens. So many are under way at once;
/// clients that have more wait.
public final class ClamdDoors: Sendable {
  /// One of them.
  public struct Door: Sendable {
    public var rules: ServeRules.ClamdDoor
    public var socket: SharedDescriptor
    /// What judges first. See ``ClamdDoors/judge(with:_:)``.
    public var checker: Checker

    public init(_ rules: ServeRules.ClamdDoor, socket: SharedDescriptor, checker: Checker) {
      (self.rules, self.socket, self.checker) = (rules, socket, checker)
    }
  }

  /// A content that a client has.
  private enum Content {
    /// It waits until others have ended.
    case waiting(door: Int)
    /// It comes, into this file; `nil`: that is being made. Since when, in nanoseconds.
    case coming(door: Int, SharedDescriptor?, since: UInt64)
    /// It is judged.
    case judged
  }

  private struct State {
    var contents: [UInt64: Content] = [:]
    var places = ClamdPlaces(most: ClamdDoors.mostUnderway, mostOfPeer: ClamdDoors.mostOfPeer)
    var life = 0
    var isServing = false
    var isBroken = false

    /// The next that may come, if there is room.
    mutating func next() -> (serial: UInt64, door: Int)? {
      guard let serial = places.next(), case .waiting(let door)? = contents[serial] else { return nil }
      contents[serial] = .coming(door: door, nil, since: Clock.monotonic())
      return (serial, door)
    }
  }

  private let doors: [Door]
  /// What judges now: for each door, and each once.
  private let judging: Mutex<(ofDoors: [Checker], all: [Checker])>
  private let executable: String
  private let folder: String
  private let version: String
  private let requiresSandbox: Bool
  private let say: @Sendable (String) -> Void
  /// Is told what came of each.
  private let front: FrontDoor
  private let life: ServerLife
  private let state = Mutex(State())
  private let records: CheckRecords
  /// Where the process of a life is told; -1: there is none.
  private let line = Mutex<(socket: Int32, life: Int)>((-1, 0))
  private let thread = Mutex<Thread?>(nil)

  /// Contents that come or are judged at once: each takes room on the disk.
  private static let mostUnderway = 64
  /// Of one peer, while others have some, too.
  private static let mostOfPeer = 48
  private static let connections: UInt32 = 1000
  /// Contents that one process may have told of: those of its connections.
  private static let mostContents = 16 * Int(connections)
  /// Bytes of address space for the process: what connections hold is little.
  private static let memory: Int64 = 1 << 30

  /// - Parameters:
  ///   - checkers: those of the doors, each once; they are ended with these.
  ///   - home: contents lie in a folder of it, without names.
  ///   - front: counts and logs what came of each.
  ///   - executable: the program `sluice-httpd`.
  ///   - version: of this program.
  ///   - say: tells the operator a line. Any thread calls it.
  public init(
    _ doors: [Door], _ checkers: [Checker], _ home: Home, front: FrontDoor, executable: String,
    version: String,
    requiresSandbox: Bool,
    say: @escaping @Sendable (String) -> Void
  ) throws(SystemError) {
    (self.doors, self.executable) = (doors, executable)
    judging = Mutex((doors.map(\.checker), checkers))
    (folder, self.front, self.requiresSandbox, self.say) = (home.uploadsPath, front, requiresSandbox, say)
    self.version = Self.answerToVersion(version)
    life = try ServerLife("the server of clamd's clients", say: say)
    records = try CheckRecords(intake: front.intake)
    mkdir(folder, 0o700)
    let started = try Thread { [self] in life.keep { () throws(SystemError) in try serve() } }
    thread.withLock { $0 = started }
  }

  /// As clients parse it: `ClamAV x.y.z/N/date`.
  private static func answerToVersion(_ version: String) -> String {
    let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    var (now, parts) = (time(nil), tm())
    gmtime_r(&now, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let numbers = version.prefix { $0.isNumber || $0 == "." }
    return
      "ClamAV \(numbers)/1/\(day[Int(parts.tm_wday)]) \(month[Int(parts.tm_mon)]) \(two(parts.tm_mday)) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) \(1900 + parts.tm_year)"
  }

  /// Takes no more connections. Checks under way go on.
  public func drain() { life.drain() }

  /// Takes no more connections, lets what is under way end for a few seconds, and ends. The scheduler has ended: checks that end
  /// meanwhile are put on record by what its intake was closed with.
  public func stop() {
    life.stop()
    thread.withLock { $0 }?.join()
    records.stop()
    stopCheckers()
  }

  /// What is under way is answered as not decided.
  private func stopCheckers() {
    let all = judging.withLock { judging in
      defer { judging.all = [] }
      return judging.all
    }
    for checker in all { checker.stop() }
  }

  /// Has others judge from now on; what is under way ends with those before.
  ///
  /// - Parameters:
  ///   - ofDoors: one for each door, in their order.
  ///   - all: each once.
  public func judge(with ofDoors: [Checker], _ all: [Checker]) {
    let before = judging.withLock { judging in
      defer { judging = (ofDoors, all) }
      return judging.all
    }
    for checker in before { checker.retire() }
  }

  // MARK: The life of the process

  /// Starts a process, and answers it until it ends.
  ///
  /// - Returns: whether it took connections.
  private func serve() throws(SystemError) -> Bool {
    let process = try ChildProcess(executable: executable, words: ["clamd", String(getpid())])
    let setup = DoorSetup(
      connections: Self.connections, longestFile: doors.map(\.rules.maxSize).max() ?? 0, memory: Self.memory,
      requiresSandbox: requiresSandbox, version: version)
    let frame = ToDoor.doors(setup).frame
    let numbers = doors.map(\.socket.number)
    if sluice_send(process.socket, frame, frame.count, numbers, Int32(numbers.count), 0) < 0 {
      process.kill()
      process.reap()
      throw SystemError("telling it what to serve")
    }
    let socket = process.socket
    _ = sluice_limit_sending(socket, 1000)
    let number = state.withLock { state in
      state = State(life: state.life + 1)
      return state.life
    }
    line.withLock { $0 = (socket, number) }
    let reader = try Thread { [self] in listen(on: socket, number) }
    var lastWords: Thread?
    let cause = life.waitForEnd(
      of: process, isServing: { state.withLock(\.isServing) }, isBroken: { state.withLock(\.isBroken) },
      drain: { send(.close, number) },
      giveUp: { lastWords = try? Thread { [self] in stopCheckers() } })
    lastWords?.join()
    shutdown(socket, Int32(SHUT_RDWR))
    reader.join()
    line.withLock { $0.socket = -1 }
    life.tellEnd(of: process, cause)
    return state.withLock(\.isServing)
  }

  private func send(_ message: ToDoor, _ number: Int, _ file: SharedDescriptor? = nil) {
    let frame = message.frame
    let numbers = file.map { [$0.number] } ?? []
    let isSent = line.withLock { line in
      // An answer to a process that has ended is none to the next, where another content has the serial.
      line.socket < 0 || line.life != number
        || sluice_send(line.socket, frame, frame.count, numbers, Int32(numbers.count), 0) >= 0
    }
    if !isSent { state.withLock { $0.isBroken = true } }
  }

  /// Answers what the process asks, until it ends or says something that it may not.
  private func listen(on socket: Int32, _ number: Int) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 16)
    defer { room.deallocate() }
    while true {
      let count = sluice_receive(socket, room.baseAddress, room.count, nil, nil, 0)
      if count <= 0 { return state.withLock { $0.isBroken = true } }
      do throws(FrameError) {
        try take(try FromDoor(UnsafeRawBufferPointer(rebasing: room[..<count])), number)
      } catch {
        say("the server of clamd's clients says what it may not: \(error)")
        return state.withLock { $0.isBroken = true }
      }
    }
  }

  // MARK: Contents

  private func take(_ message: FromDoor, _ number: Int) throws(FrameError) {
    switch message {
    case .open:
      state.withLock { $0.isServing = true }
      if number == 1 {
        for door in doors { say("answering clients of clamd on \(Self.name(door.socket))") }
      }
    case .asked(let serial, let door, let peer):
      guard doors.indices.contains(Int(door)) else { throw FrameError("a door that is none") }
      try state.withLock { state throws(FrameError) in
        if state.contents.count >= Self.mostContents { throw FrameError("more contents than connections") }
        if state.contents[serial] != nil || state.places.has(serial) {
          throw FrameError("a content that there is")
        }
        state.contents[serial] = .waiting(door: Int(door))
        state.places.wait(serial, of: peer)
      }
      letIn(number)
    case .taken(let serial, let content):
      let coming = try state.withLock {
        state throws(FrameError) -> (door: Int, SharedDescriptor, since: UInt64) in
        guard case .coming(let door, let file?, let since)? = state.contents[serial] else {
          throw FrameError("a content that was not to come")
        }
        state.contents[serial] = .judged
        return (door, file, since)
      }
      judge(serial, coming.1, since: coming.since, coming.door, content, number)
    case .left(let serial):
      let isPlaceFree = try state.withLock { state throws(FrameError) in
        switch state.contents.removeValue(forKey: serial) {
        case .waiting, .coming:
          state.places.leave(serial)
          return true
        // What judges has it, and tells its end.
        case .judged: return false
        case nil: throw FrameError("the end of a content that there never was")
        }
      }
      if isPlaceFree { letIn(number) }
    }
  }

  private static func name(_ socket: SharedDescriptor) -> String {
    let name = ListenAddress.name(of: socket.number)
    return name.hasPrefix("http://") ? String(name.dropFirst("http://".count)) : name
  }

  /// Has contents come that wait, as long as there is room.
  private func letIn(_ number: Int) {
    while let (serial, door) = state.withLock({ $0.life == number ? $0.next() : nil }) {
      do throws(SystemError) {
        let made = sluice_unnamed_file(folder)
        if made < 0 { throw SystemError("making room for a content") }
        let file = SharedDescriptor(Descriptor(owning: made))
        let isWanted = state.withLock { state in
          // It may have left meanwhile.
          guard state.life == number, case .coming(_, nil, let since)? = state.contents[serial] else {
            return false
          }
          state.contents[serial] = .coming(door: door, file, since: since)
          return true
        }
        if isWanted { send(.take(serial: serial, limit: doors[door].rules.maxSize), number, file) }
      } catch {
        say("a content of clamd's clients cannot be taken: \(error)")
        let isWanted = state.withLock { state in
          guard state.life == number, case .coming? = state.contents[serial] else { return false }
          state.contents[serial] = .judged
          return true
        }
        let reason = Reason(stage: "check", code: "no-room", message: "\(error)")
        if isWanted {
          tell(serial, CheckResult(.unknown, reason), since: Clock.monotonic(), doors[door], number)
        }
      }
    }
  }

  private func judge(
    _ serial: UInt64, _ file: SharedDescriptor, since: UInt64, _ index: Int, _ content: TakenContent,
    _ number: Int
  ) {
    let door = doors[index]
    if content == .notWritten {
      let reason = Reason(stage: "check", code: "no-room", message: "the content could not be written")
      return answer(serial, CheckResult(.unknown, reason), since: since, door, number)
    }
    let checker = judging.withLock { $0.ofDoors[index] }
    checker.check(Check(file)) { [self] result in answer(serial, result, since: since, door, number) }
  }

  private func answer(
    _ serial: UInt64, _ result: CheckResult, since: UInt64, _ door: Door, _ number: Int
  ) {
    let then: @Sendable (Bool) -> Void = { [self] isRecorded in
      tell(serial, isRecorded ? result : Self.unrecorded, since: since, door, number)
      letIn(number)
    }
    // The client is told once that is on record.
    if door.rules.record == .all || door.rules.record == .found && result.verdict != .clean {
      records.add(result, door: door.rules.listen, then: then)
    } else {
      then(true)
    }
  }

  /// In the place of a verdict that is to be on record, and cannot be.
  private static var unrecorded: CheckResult {
    CheckResult(
      .unknown, Reason(stage: "check", code: "no-record", message: "the verdict could not be put on record"))
  }

  /// Tells what came of commands. Others' tickets are none of its business.
  public func answer(_ ticket: UInt64) { records.answer(ticket, isRecorded: true) }

  /// Tells that commands were not done, since the disk of the ledger is full.
  public func foundNoRoom(_ ticket: UInt64) { records.answer(ticket, isRecorded: false) }

  /// Gives the answer to a content that was judged, and its place to another.
  private func tell(_ serial: UInt64, _ result: CheckResult, since: UInt64, _ door: Door, _ number: Int) {
    front.judged(result, door: door.rules.listen, seconds: Double(Clock.monotonic() - since) / 1e9)
    send(.answer(serial: serial, ClamdAnswer.text(result, door.rules.unknown)), number)
    state.withLock { state in
      if state.life == number { state.places.leave(serial) }
    }
  }
}
