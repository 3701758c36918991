import CPlatform
import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// Opens its stages, closes the sandbox, and takes one piece of work after the other through them.
struct Worker {
  private let socket: ControlSocket
  private let stages: [OpenStage]
  private let status: UnsafeMutablePointer<sluice_status>
  private let mostMemory: Int64
  private var memory: Int64
  private let flushes: Bool
  /// It has one stage, which works on many events or attachments at once.
  private let turns: Bool
  private let tracer: Tracer?
  /// Done but for the barrier, in order; or begun and not settled.
  private var unflushed: [Call] = []
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)

  /// Attachments between two barriers, at most.
  private static let batch = 64
  /// Milliseconds of one turn, at most: for so long a stage may not see that a result is not wanted any more.
  private static let turnLength: Int64 = 250

  static func run(_ socket: ControlSocket) -> Never {
    var worker = Worker(socket)
    if worker.stages.count == 1, let source = worker.stages.first, source.isSource {
      var transfers = Transfers(source, socket, worker.status, worker.tracer)
      while true { transfers.step() }
    }
    while true { worker.step() }
  }

  private init(_ socket: ControlSocket) {
    self.socket = socket
    status = StatusPage.map(socket)
    do {
      guard let message = socket.receive(waiting: true, into: room) else { exit(0) }
      var reader = FrameReader(UnsafeRawBufferPointer(message.bytes))
      guard case .setup = try reader.kind() else { throw FrameError("the first frame is not a setup") }
      let setup = try Setup(&reader)
      message.bytes.deallocate()
      sluice_watch(status)
      if setup.capability == .network { Doors.start() }
      let program = try Self.startKeepers(setup)
      // Before anything of a plugin runs, its constructors included.
      if setup.sandbox != .off && !Confinement.begin(setup) && setup.sandbox == .require {
        throw Self.lacksSandbox
      }
      let host = Host.makeTable()
      let tracer = setup.isTraced ? Tracer(socket) : nil
      self.tracer = tracer
      let name = setup.stages.first?.id ?? ""
      Call.complainOfStray = { text in
        tracer?.tell(name, TraceLine.complaint, text)
        _ = "\(name): \(text)\n".withCString { write(2, $0, strlen($0)) }
      }
      let leak = try TrialOpenings(host: host).run(setup)
      stages = try setup.stages.map { definition throws(Refusal) -> OpenStage in
        try OpenStage(
          definition, folder: SLUICE_FD_FOLDER, host: host, tracer: tracer,
          watchesNames: setup.watchesNames)
      }
      // Beside another it is flushed, as on a host that knows no `turn`: a check has it so.
      turns = stages.count == 1 && stages[0].turns
      flushes = !turns && stages.contains { $0.flushes }
      mostMemory = setup.stages.map(\.memory).max() ?? 0
      memory = mostMemory
      Doors.finish()
      sluice_limit_memory(memory, mostMemory)
      var level: UInt32 = 0
      if setup.sandbox != .off {
        // What a program is to read is written into a file in memory.
        let output = program.map { max(setup.output, $0.maxContent) } ?? setup.output
        level = sluice_sandbox_close(setup.capability.rawValue, SLUICE_FD_FOLDER, output)
        if level == 0 {
          throw Refusal(
            stage: nil, message: "a stage starts a thread in `open`, where the sandbox cannot reach it")
        }
        if setup.sandbox == .require && !Confinement.isWhole(level) { throw Self.lacksSandbox }
      }
      if setup.capability != .store { close(SLUICE_FD_FOLDER) }
      socket.send(
        Ready(
          sandbox: level, leaked: leak, bases: stages.map(\.basis), lengthLimits: stages.map(\.lengthLimit)
        ).frame)
    } catch let refusal as Refusal {
      socket.refuse(refusal)
    } catch {
      socket.refuse(Refusal(stage: nil, message: "setup: \(error)"))
    }
  }

  /// Starts what keeps the program of each stage that is one: instances of one stage, which is alone in its worker.
  private static func startKeepers(_ setup: Setup) throws(Refusal) -> Program? {
    for stage in setup.stages {
      guard let program = stage.description.program else { continue }
      signal(SIGPIPE, SIG_IGN)  // a program that has ended is noticed by its keeper
      guard ProgramKeeper.start(stage, program, setup.sandbox) else {
        throw Refusal(stage: stage.id, message: "starting a process: \(String(cString: strerror(errno)))")
      }
    }
    return setup.stages.first?.description.program
  }

  private static let lacksSandbox = Refusal(
    stage: nil,
    message:
      "the kernel lacks a part of the sandbox (`sluice doctor` names it); `sandbox: prefer` in the pipeline runs without "
      + "that part")

  /// Takes the next piece of work; where none waits, ends the batch first.
  private mutating func step() {
    guard let message = socket.receive(waiting: unflushed.isEmpty, into: room) else {
      return turns ? turn() : flush()
    }
    do throws(FrameError) {
      var reader = FrameReader(UnsafeRawBufferPointer(message.bytes))
      guard case .work = try reader.kind() else { throw FrameError("not a piece of work") }
      let input = try WorkInput(reader, in: message.bytes, descriptors: message.descriptors)
      guard input.first <= input.end, input.end <= stages.count else { throw FrameError("no such stages") }
      run(input)
    } catch {
      // The coordinator is the one that is trusted: a frame it did not mean ends the worker, and it will say so.
      exit(70)
    }
    if turns { tellSettled() } else if unflushed.count >= Self.batch { flush() }
  }

  private mutating func run(_ input: WorkInput) {
    guard let firstStage = stages.first else { return }
    let call = Call(stage: firstStage, input: input, tracer: tracer, status: status)
    for index in input.first..<input.end {
      let stage = stages[index]
      let attachment = input.attachment
      if call.isCancelled { break }
      if !stage.definition.runs(for: attachment.pointee.media_type.map { String(cString: $0) }) { continue }
      if stage.definition.memory != memory {
        memory = stage.definition.memory
        sluice_limit_memory(memory, mostMemory)
      }
      (call.stage, call.stageIndex) = (stage, index)
      call.explanation = Call.Explanation()
      if !call.result.report.results.isEmpty { publish(call.result) }
      if attachment.pointee.content >= 0 { lseek(attachment.pointee.content, 0, SEEK_SET) }
      sluice_status_begin(status, input.serial, UInt32(index))
      let start = status.pointee.since
      call.began = start
      let verdict = stage.raw.pointee.process(stage.instance, attachment, call.handle)
      call.trace("process", "-> \(Verdict(rawValue: verdict)?.name ?? "verdict \(verdict)")")
      call.record(stage: index, verdict, microseconds: Self.microseconds(since: start))
      call.result.report.pieceList = call.pieces.appendList()
      // The host may say otherwise than the stage.
      if call.result.report.results.last?.verdict != .pass { break }
      if flushes && stage.flushes { call.mark(stage: index) }
      // The coordinator seals and measures new content before anyone reads it.
      if call.result.report.produced { break }
    }
    sluice_status_begin(status, 0, status.pointee.stage)
    let isUnderway = turns && call.result.report.results.last?.verdict == .pass
    if flushes || isUnderway {
      if call.settled == nil { call.explanation = Call.Explanation() }
      unflushed.append(call)
    } else {
      socket.send(call.result.frame)
    }
  }

  /// Leaves what has been said so far where the coordinator finds it should the next stage end the worker.
  private func publish(_ result: WorkResult) {
    let frame = result.frame
    let place = UnsafeMutableRawPointer(status) + Int(SLUICE_STATUS_PARTIAL)
    place.storeBytes(of: UInt32(min(frame.count, Frame.limit)), as: UInt32.self)
    frame.withUnsafeBytes {
      (place + 4).copyMemory(
        from: $0.baseAddress ?? UnsafeRawPointer(place), byteCount: min($0.count, Frame.limit))
    }
  }

  /// The barrier of each stage that has one, then the results.
  private mutating func flush() {
    sluice_status_begin(status, 0, SLUICE_FLUSHING)
    for (index, stage) in stages.enumerated() where stage.flushes {
      let waiting = unflushed.filter { $0.marks.contains { $0.stage == index } }
      if waiting.isEmpty { continue }
      for call in waiting {
        (call.stage, call.stageIndex) = (stage, index)
        call.explanation = Call.Explanation()
        call.settled = nil
      }
      let barrier = Call(stage: stage, tracer: tracer)
      let verdict = stage.raw.pointee.flush(stage.instance, barrier.handle)
      barrier.trace("flush", "-> \(Verdict(rawValue: verdict)?.name ?? "verdict \(verdict)")")
      for call in waiting {
        let settled = call.settled ?? verdict
        if settled == SLUICE_PASS { continue }
        if call.settled == nil { call.explanation = barrier.explanation }
        call.amend(stage: index, to: settled)
      }
    }
    sluice_status_begin(status, 0, 0)
    for call in unflushed { socket.send(call.result.frame) }
    unflushed.removeAll(keepingCapacity: true)
  }

  /// Lets the stage work on what is under way.
  private mutating func turn() {
    // No single piece of work answers for what happens now.
    sluice_status_begin(status, 0, SLUICE_FLUSHING)
    stages[0].raw.pointee.turn(stages[0].instance, socket.descriptor, Self.turnLength)
    sluice_status_begin(status, 0, 0)
    tellSettled()
  }

  private mutating func tellSettled() {
    unflushed.removeAll { call in
      guard let settled = call.settled else { return false }
      // What it has said meanwhile stays.
      call.mark(stage: 0)
      call.result.report.pieceList = call.pieces.appendList()
      if settled != SLUICE_PASS { call.amend(stage: 0, to: settled) }
      // What it took, and not how long it took to begin with it.
      if let last = call.result.report.results.indices.last {
        call.result.report.results[last].microseconds = Self.microseconds(since: call.began)
      }
      socket.send(call.result.frame)
      return true
    }
  }

  private static func microseconds(since start: UInt64) -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let nanoseconds = UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    return Int64(clamping: (nanoseconds - min(start, nanoseconds)) / 1000)
  }
}
