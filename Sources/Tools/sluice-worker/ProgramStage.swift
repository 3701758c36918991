import Bytes
import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// A program as a stage of the contract: what a plugin's library would be, made of the program's description. So a program is held
/// to all that the worker holds a library to.
final class ProgramStage {
  let definition: StageDefinition
  let program: Program

  private init(_ definition: StageDefinition, _ program: Program) {
    (self.definition, self.program) = (definition, program)
  }

  /// By the stage's id. Unchecked because a worker has one thread.
  nonisolated(unsafe) private static var made: [String: UnsafePointer<sluice_stage>] = [:]

  /// Lives as long as the process. A stage that is opened again is the same.
  static func make(_ definition: StageDefinition, _ program: Program) -> UnsafePointer<sluice_stage> {
    if let known = made[definition.id] { return known }
    let arena = Unmanaged.passRetained(Arena()).takeUnretainedValue()
    func terms(_ list: [StageDescription.Term]) -> UnsafePointer<sluice_term> {
      let place = UnsafeMutablePointer<sluice_term>.allocate(capacity: max(list.count, 1))
      for (index, term) in list.enumerated() {
        (place + index).initialize(to: sluice_term(name: arena.keep(term.name), help: arena.keep("")))
      }
      return UnsafePointer(place)
    }
    let description = definition.description
    var stage = sluice_stage()
    stage.size = UInt32(MemoryLayout<sluice_stage>.size)
    (stage.abi_major, stage.abi_minor) = (SLUICE_ABI_MAJOR, UInt32(SLUICE_ABI_MINOR))
    stage.capability = SLUICE_CONTENT
    stage.flags = description.produces ? SLUICE_PRODUCES : 0
    if description.derives { stage.flags |= SLUICE_DERIVES }
    if description.expands { stage.flags |= SLUICE_EXPANDS }
    (stage.key_count, stage.code_count) = (UInt32(description.keys.count), UInt32(description.codes.count))
    stage.id = arena.keep(description.id)
    stage.version = arena.keep(description.version)
    stage.summary = arena.keep("")
    (stage.keys, stage.codes) = (terms(description.keys), terms(description.codes))
    stage.context = UnsafeRawPointer(Unmanaged.passRetained(ProgramStage(definition, program)).toOpaque())
    (stage.open, stage.process, stage.close) = (openProgram, processWithProgram, closeProgram)
    let place = UnsafeMutablePointer<sluice_stage>.allocate(capacity: 1)
    place.initialize(to: stage)
    made[definition.id] = UnsafePointer(place)
    return UnsafePointer(place)
  }

  fileprivate static func from(_ stage: UnsafePointer<sluice_stage>?) -> ProgramStage? {
    stage?.pointee.context.map { Unmanaged<ProgramStage>.fromOpaque($0).takeUnretainedValue() }
  }
}

/// A started program, and what it is spoken to through.
private final class ProgramInstance {
  let stage: ProgramStage
  let process: ProgramProcess
  let host: UnsafePointer<sluice_host>

  init(
    _ stage: ProgramStage, _ host: UnsafePointer<sluice_host>
  ) throws(ProgramProcess.Problem) {
    (self.stage, self.host) = (stage, host)
    guard let keeper = ProgramKeeper.keeper(of: stage.definition) else {
      throw ProgramProcess.Problem(message: "it has no keeper")
    }
    process = try ProgramProcess(stage.program, keeper, mostProduced: stage.definition.output)
  }

  /// Tells it what it is, and waits until it is ready.
  func open(_ call: OpaquePointer?) -> sluice_verdict {
    process.greet(ProgramRequest.setup(stage.definition))
    var isReady = false
    while !isReady {
      for statement in statements() {
        switch statement {
        case .ready: isReady = true
        case .refuse(let reason):
          host.pointee.explain(call, nil, reason)
          return SLUICE_FAIL
        case .repeatable(let basis): host.pointee.repeatable(call, basis)
        case .log(let level, let line): host.pointee.log(call, level.rawValue, line)
        default: process.fault(.invalidReply("\(noun(of: statement)) before it had an attachment in hand"))
        }
      }
    }
    process.spareFamily()
    return SLUICE_PASS
  }

  /// Hands it an attachment, and hears it until its verdict.
  func process(_ attachment: UnsafePointer<sluice_attachment>, _ call: OpaquePointer?) -> sluice_verdict {
    if attachment.pointee.content_size > UInt64(stage.program.maxContent) {
      host.pointee.explain(
        call, Program.tooLarge,
        "the content has \(attachment.pointee.content_size) bytes, and 'max-content' gives the program at most "
          + ByteSize.text(stage.program.maxContent))
      return SLUICE_FAIL
    }
    let error = process.show(attachment.pointee.content)
    if error != 0 {
      host.pointee.explain(call, nil, "copying the content: \(String(cString: strerror(error)))")
      return SLUICE_RETRY
    }
    process.tell(ProgramRequest.attachment(attachment.pointee, Call.from(call)?.knownMetadata ?? []))
    var hasProduced = false
    var taken = TakenBytes()
    while true {
      for statement in statements() {
        switch statement {
        case .verdict(let verdict, let code, let message):
          if code != nil || message != nil { host.pointee.explain(call, code, message) }
          if verdict == .pass && hasProduced && taken.error == 0 {
            taken.error = handOver(from: taken.end, call)
          }
          process.sweepFamily()
          process.expectSilence()
          guard verdict == .pass, taken.error != 0 else { return verdict.rawValue }
          host.pointee.explain(
            call, nil, "copying what it wrote: \(String(cString: strerror(taken.error)))")
          return SLUICE_RETRY
        case .produce: hasProduced = true
        case .derive(let name, let type, let bytes):
          take(bytes, &taken, of: "derive") {
            derivation(call).map { $0.pointee.begin(call, name, type) } ?? -1
          }
        case .child(let name, let type, let bytes):
          take(bytes, &taken, of: "child") {
            expansion(call).map { $0.pointee.begin(call, name, type) } ?? -1
          }
        default: say(statement, call)
        }
      }
    }
  }

  private func say(_ statement: ProgramLine.Statement, _ call: OpaquePointer?) {
    switch statement {
    case .annotate(let key, .text(let text)): host.pointee.annotate_text(call, key, text)
    case .annotate(let key, .integer(let number)): host.pointee.annotate_integer(call, key, number)
    case .annotate(let key, .number(let number)): host.pointee.annotate_number(call, key, number)
    case .annotate(let key, .boolean(let value)): host.pointee.annotate_boolean(call, key, value ? 1 : 0)
    case .mediaType(let type): host.pointee.set_media_type(call, type)
    case .log(let level, let line): host.pointee.log(call, level.rawValue, line)
    case .progress(let fraction): host.pointee.progress(call, fraction)
    case .retryAfter(let milliseconds): host.pointee.retry_after(call, milliseconds)
    case .pause: host.pointee.pause(call)
    case .produce, .derive, .child, .verdict: break
    case .ready, .repeatable, .refuse:
      process.fault(.invalidReply("\(noun(of: statement)) in place of what it says of an attachment"))
    }
  }

  /// Copies what is left of the program's bytes to where the host takes new content. Returns 0, or an errno.
  private func handOver(from offset: Int64, _ call: OpaquePointer?) -> Int32 {
    let target = host.pointee.produce(call)
    if target < 0 { return 0 }  // it does not declare that, and has been told so
    if process.producedSize > stage.definition.output { process.fault(.outputLimit) }
    return ProgramProcess.copy(from: process.produced, at: offset, to: target)
  }

  /// How much of what the program wrote for an attachment is in other hands, from its beginning.
  private struct TakenBytes {
    var end: Int64 = 0
    /// Of the first copy that failed.
    var error: Int32 = 0
  }

  /// Takes the next bytes that the program wrote to where `begin` says; where that is nowhere, they are dropped.
  private func take(_ count: Int64, _ taken: inout TakenBytes, of member: String, _ begin: () -> Int32) {
    let size = process.producedSize
    if size > stage.definition.output { process.fault(.outputLimit) }
    guard count <= size - taken.end else {
      process.fault(
        .invalidReply(
          "'\(member)' of \(count) bytes, and in descriptor 4 there are \(max(size - taken.end, 0)) that are not taken"
        ))
    }
    let target = begin()
    if target >= 0, taken.error == 0 {
      taken.error = ProgramProcess.append(from: process.produced, taken.end..<taken.end + count, to: target)
    }
    taken.end += count
  }

  private func derivation(_ call: OpaquePointer?) -> UnsafePointer<sluice_derivation>? {
    host.pointee.extension(call, SLUICE_EXTENSION_DERIVATION)?.assumingMemoryBound(to: sluice_derivation.self)
  }

  private func expansion(_ call: OpaquePointer?) -> UnsafePointer<sluice_expansion>? {
    host.pointee.extension(call, SLUICE_EXTENSION_EXPANSION)?.assumingMemoryBound(to: sluice_expansion.self)
  }

  private func statements() -> [ProgramLine.Statement] {
    do throws(ProgramLine.Flaw) {
      return try ProgramLine.read(process.line())
    } catch {
      process.fault(.invalidReply(error.reason))
    }
  }

  private func noun(of statement: ProgramLine.Statement) -> String {
    switch statement {
    case .ready: "'ready'"
    case .repeatable: "'repeatable'"
    case .refuse: "'refuse'"
    case .annotate: "'annotate'"
    case .mediaType: "'mediaType'"
    case .produce: "'produce'"
    case .derive: "'derive'"
    case .child: "'child'"
    case .log: "'log'"
    case .progress: "'progress'"
    case .retryAfter: "'retryAfter'"
    case .pause: "'pause'"
    case .verdict: "'verdict'"
    }
  }
}

// MARK: The functions of the contract

private func openProgram(
  _ stage: UnsafePointer<sluice_stage>?, _ opening: UnsafePointer<sluice_opening>?,
  _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> sluice_verdict {
  guard let stage = ProgramStage.from(stage), let opening, let host = opening.pointee.host else {
    return SLUICE_FAIL
  }
  do throws(ProgramProcess.Problem) {
    let made = try ProgramInstance(stage, host)
    let verdict = made.open(opening.pointee.call)
    if verdict == SLUICE_PASS { instance?.pointee = Unmanaged.passRetained(made).toOpaque() }
    return verdict
  } catch {
    host.pointee.explain(opening.pointee.call, nil, error.message)
    return SLUICE_FAIL
  }
}

private func processWithProgram(
  _ instance: UnsafeMutableRawPointer?, _ attachment: UnsafePointer<sluice_attachment>?,
  _ call: OpaquePointer?
) -> sluice_verdict {
  guard let instance, let attachment else { return SLUICE_FAIL }
  return Unmanaged<ProgramInstance>.fromOpaque(instance).takeUnretainedValue().process(attachment, call)
}

private func closeProgram(_ instance: UnsafeMutableRawPointer?) {
  if let instance { Unmanaged<ProgramInstance>.fromOpaque(instance).release() }
}
