import CPlatform
import FrontWire
import Glibc
import LedgerPort
import Platform
import Scheduler
import Synchronization
import Wire

/// The requests under way: what each waits for, and the socket on which they are answered. All threads use it.
final class RequestDesk: Sendable {
  typealias Step = (asked: Asked, step: API.UploadStep)

  private struct Awaiting {
    var asked: Asked
    var until: UInt64
  }

  private struct State {
    /// Whether there is a process.
    var isRunning = false
    var life: UInt64 = 0
    /// The last life in which it took connections.
    var servingLife: UInt64 = 0
    /// Requests that have begun and not ended; and those whose end another thread heard of first.
    var open: [UInt64: AccessLog.Entry] = [:]
    var early: [UInt64: FrontEnd] = [:]
    var waiting: [UInt64: Waiting] = [:]
    /// By serial.
    var storing: [UInt64: Storing] = [:]
    var reading: [UInt64: Reading] = [:]
    var checking: [UInt64: Checking] = [:]
    /// By the attachment that they wait for.
    var awaiting: [String: [Awaiting]] = [:]
    /// What requests wait for, by serial; perhaps what they have waited for.
    var awaited: [UInt64: String] = [:]
    /// Those that take long, with what shows who asks.
    var held: [UInt64: Credential] = [:]
    /// Uploads that a body is stored of, and the steps that wait until it has ended.
    var underway: [String: UInt64] = [:]
    /// Those whose rows are being changed: the request that has one is not cut off.
    var changing: Set<String> = []
    var parked: [String: [Step]] = [:]
    /// Those of other clients of the intake are small.
    var lastTicket: UInt64 = 1 << 63
    var counts = RequestCounts()

    /// Whether the process that a request came from is the one of now.
    func isAlive(_ asked: Asked) -> Bool { isRunning && life == asked.life }

    /// It waits no more.
    mutating func dropAwaiting(_ id: String, _ serial: UInt64) {
      let rest = awaiting[id, default: []].filter { $0.asked.serial != serial }
      awaiting[id] = rest.isEmpty ? nil : rest
    }
  }

  private let state = Mutex(State())
  /// Where the process is told; -1: there is none. Apart from the rest, which the scheduler looks at: a process that takes nothing
  /// holds up those alone who tell it something.
  private let line = Mutex<Int32>(-1)
  private let broken = Atomic(false)
  /// Requests that there may be at once. There is one for each connection, and the end of one may be told after the next has begun.
  private let most: Int

  /// Ends that may be told before the request.
  private static let mostEarly = 1000
  /// Requests that may wait for one upload.
  private static let mostParked = 100
  /// Seconds for which a process may take nothing.
  private static let patience = 10

  /// - Parameter connections: as many as the process may have.
  init(connections: Int = 10_000) { most = connections + Self.mostEarly }

  // MARK: The process

  /// A process has been started.
  func begin(_ socket: Int32) -> UInt64 {
    // Sends wait for a second at a time, so that a program that was stopped itself counts that as one.
    _ = sluice_limit_sending(socket, 1000)
    line.withLock { $0 = socket }
    broken.store(false, ordering: .relaxed)
    return state.withLock { state in
      state.isRunning = true
      state.life += 1
      return state.life
    }
  }

  /// Whether the process has done what it may not, or takes nothing: it is to be ended.
  var isBroken: Bool { broken.load(ordering: .relaxed) }

  func giveUp() { broken.store(true, ordering: .relaxed) }

  /// It takes connections. True: the first does.
  func serves() -> Bool {
    state.withLock { state in
      defer { state.servingLife = state.life }
      return state.servingLife == 0
    }
  }

  /// Whether the process of this life took connections.
  var isServing: Bool { state.withLock { $0.life > 0 && $0.servingLife == $0.life } }

  /// It has ended, and with it all that was under way.
  ///
  /// - Returns: the requests that were not answered to their end.
  func end(_ life: UInt64) -> [AccessLog.Entry] {
    line.withLock { $0 = -1 }
    return state.withLock { state in
      defer {
        (state.open, state.early, state.held) = ([:], [:], [:])
        (state.awaiting, state.awaited) = ([:], [:])
      }
      state.isRunning = false
      state.waiting = state.waiting.filter { $0.value.asked.life != life }
      (state.storing, state.reading, state.underway, state.parked) = ([:], [:], [:], [:])
      state.changing = []
      state.checking = [:]
      return Array(state.open.values)
    }
  }

  /// Nothing is told to a process that has ended.
  func send(_ message: ToFront, _ file: SharedDescriptor? = nil) {
    let frame = message.frame
    let numbers = file.map { [$0.number] } ?? []
    line.withLock { socket in
      for _ in 0..<Self.patience where socket >= 0 && !isBroken {
        if sluice_send(socket, frame, frame.count, numbers, Int32(numbers.count), 0) >= 0 { return }
        if errno != EAGAIN && errno != EWOULDBLOCK { return }
      }
      if socket >= 0 { giveUp() }
    }
  }

  // MARK: Begin and end of requests

  /// - Returns: of each, how it has ended already; `nil`: it has not.
  /// - Throws: where the process cannot have one of them.
  func open(_ requests: [(serial: UInt64, entry: AccessLog.Entry)]) throws(FrameError) -> [FrontEnd?] {
    try state.withLock { state throws(FrameError) in
      var ends: [FrontEnd?] = []
      for (serial, entry) in requests {
        let end = state.early.removeValue(forKey: serial)
        ends.append(end)
        if end != nil { continue }
        if state.open.count >= most { throw FrameError("more requests than connections") }
        if state.open.updateValue(entry, forKey: serial) != nil {
          throw FrameError("a request that there is")
        }
      }
      return ends
    }
  }

  /// Remembers who asks.
  func note(_ serial: UInt64, _ token: AccessToken) { state.withLock { $0.open[serial]?.token = token } }

  /// - Returns: what was known of those that had begun; of the others, ``open(_:)`` will tell.
  func close(
    _ ends: [UInt64: FrontEnd]
  ) throws(FrameError) -> [(entry: AccessLog.Entry, end: FrontEnd)] {
    try state.withLock { state throws(FrameError) in
      var known: [(entry: AccessLog.Entry, end: FrontEnd)] = []
      for (serial, end) in ends {
        (state.held[serial], state.reading[serial], state.checking[serial]) = (nil, nil, nil)
        if let id = state.awaited.removeValue(forKey: serial) { state.dropAwaiting(id, serial) }
        if let entry = state.open.removeValue(forKey: serial) {
          state.counts.add(end)
          known.append((entry, end))
          continue
        }
        if state.early.count >= Self.mostEarly {
          throw FrameError("ends of requests that there never were")
        }
        if state.early.updateValue(end, forKey: serial) == nil { state.counts.add(end) }
      }
      return known
    }
  }

  func isOpen(_ serial: UInt64) -> Bool { state.withLock { $0.open[serial] != nil } }

  /// Requests that have begun and not ended.
  var openCount: Int { state.withLock { $0.open.count } }

  var counts: RequestCounts { state.withLock { $0.counts } }

  /// It takes long: its credential may lose its worth meanwhile.
  func hold(_ serial: UInt64, _ credential: Credential) {
    state.withLock { state in
      if state.open[serial] != nil { state.held[serial] = credential }
    }
  }

  /// Those that take long and whose credential answers to a condition.
  func serials(where condition: (Credential) -> Bool) -> [UInt64] {
    let held = state.withLock { $0.held }
    var found: [Credential: Bool] = [:]
    return held.compactMap { serial, credential in
      let isSo = found[credential] ?? condition(credential)
      found[credential] = isSo
      return isSo ? serial : nil
    }
  }

  // MARK: What they wait for

  /// - Returns: the ticket of its commands.
  func wait(_ waiting: Waiting) -> UInt64 {
    state.withLock { state in
      state.lastTicket += 1
      state.waiting[state.lastTicket] = waiting
      return state.lastTicket
    }
  }

  func takeWaiting(_ ticket: UInt64) -> Waiting? {
    state.withLock { $0.waiting.removeValue(forKey: ticket) }
  }

  func store(_ storing: Storing) {
    state.withLock { state in
      if !state.isAlive(storing.asked) { return }
      state.storing[storing.asked.serial] = storing
      state.underway[storing.upload] = storing.asked.serial
    }
  }

  func takeStoring(_ serial: UInt64) -> Storing? {
    state.withLock { $0.storing.removeValue(forKey: serial) }
  }

  func read(_ reading: Reading) {
    state.withLock { state in
      if state.open[reading.asked.serial] != nil { state.reading[reading.asked.serial] = reading }
    }
  }

  func takeReading(_ serial: UInt64) -> Reading? {
    state.withLock { $0.reading.removeValue(forKey: serial) }
  }

  /// Contents that are judged at once, in all and of one name: each takes room on the disk. Nobody has more than are free, so that
  /// there is a place for whoever comes next.
  private static let (mostChecks, mostOfOne) = (64, 16)

  /// False: too many are judged already.
  func check(_ checking: Checking) -> Bool {
    state.withLock { state in
      // Its client has left: nothing is told.
      if state.open[checking.asked.serial] == nil { return true }
      let ofOne = state.checking.values.count { ByteText($0.asker.name) == ByteText(checking.asker.name) }
      if ofOne >= min(Self.mostOfOne, Self.mostChecks - state.checking.count) { return false }
      state.checking[checking.asked.serial] = checking
      return true
    }
  }

  /// What follows from the body of one that is to be judged, once.
  func takeChecking(_ serial: UInt64) -> Checking? {
    state.withLock { state in
      guard let checking = state.checking[serial], checking.next != nil else { return nil }
      state.checking[serial]?.next = nil
      return checking
    }
  }

  /// - Parameter until: nanoseconds of the monotonic clock.
  func await(_ id: String, _ asked: Asked, until: UInt64) {
    state.withLock { state in
      // Another thread may have heard of its end meanwhile.
      guard state.open[asked.serial] != nil else { return }
      state.awaited[asked.serial] = id
      state.awaiting[id, default: []].append(Awaiting(asked: asked, until: until))
    }
  }

  /// False: another thread answers it.
  func stopAwaiting(_ id: String, _ serial: UInt64) -> Bool {
    state.withLock { state in
      guard let all = state.awaiting[id], all.contains(where: { $0.asked.serial == serial }) else {
        return false
      }
      state.dropAwaiting(id, serial)
      return true
    }
  }

  func isAwaited(_ id: String) -> Bool { state.withLock { $0.awaiting[id] != nil } }

  func takeAwaiting(_ id: String) -> [Asked] {
    state.withLock { $0.awaiting.removeValue(forKey: id) ?? [] }.map(\.asked)
  }

  /// Those that have waited for long enough.
  func takeOverdue(at time: UInt64) -> [(id: String, asked: Asked)] {
    state.withLock { state in
      var found: [(id: String, asked: Asked)] = []
      for (id, all) in state.awaiting where all.contains(where: { $0.until <= time }) {
        found += all.filter { $0.until <= time }.map { (id, $0.asked) }
        let rest = all.filter { $0.until > time }
        state.awaiting[id] = rest.isEmpty ? nil : rest
      }
      return found
    }
  }

  // MARK: Uploads

  func isUsed(_ id: String) -> Bool { state.withLock { $0.underway[id] != nil } }

  /// What came of a claim to an upload.
  enum Claim: Equatable {
    /// The request has it to itself.
    case mine
    /// The request waits for another, which is to end where it is the older one.
    case parked(behind: UInt64, isNewer: Bool)
    /// Too many wait for it already.
    case crowded
    /// The process that the request came from has ended.
    case over
  }

  /// Lets a request have an upload to itself; where another has it, it is parked.
  ///
  /// Requests are taken by several threads: an older one may come later than a newer one.
  func claim(_ id: String, _ step: Step) -> Claim {
    state.withLock { state in
      guard state.isAlive(step.asked) else { return .over }
      if let other = state.underway[id], other != step.asked.serial {
        if state.parked[id, default: []].count >= Self.mostParked { return .crowded }
        state.parked[id, default: []].append(step)
        return .parked(
          behind: other, isNewer: step.asked.serial > other && !state.changing.contains(id))
      }
      state.underway[id] = step.asked.serial
      // What has no body that may never end is not cut off.
      switch step.step {
      case .join, .end: state.changing.insert(id)
      default: break
      }
      return .mine
    }
  }

  func release(_ id: String, _ serial: UInt64) {
    state.withLock { state in
      guard state.underway[id] == serial else { return }
      state.underway[id] = nil
      state.changing.remove(id)
    }
  }

  /// The request that has an upload has its row changed. No other gets it before that is on record: it would find a row that is about
  /// to go, and make its file anew.
  func change(_ id: String, _ isChanging: Bool, _ serial: UInt64) {
    state.withLock { state in
      guard state.underway[id] == serial else { return }
      if isChanging { state.changing.insert(id) } else { state.changing.remove(id) }
    }
  }

  /// The next step that waited for an upload that no request has.
  func takeParked(_ id: String) -> Step? {
    state.withLock { state in
      guard state.underway[id] == nil, var parked = state.parked[id], !parked.isEmpty else { return nil }
      let first = parked.removeFirst()
      state.parked[id] = parked.isEmpty ? nil : parked
      return first
    }
  }
}
