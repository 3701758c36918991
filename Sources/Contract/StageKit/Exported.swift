import Glibc

/// A Swift stage in the dress of the C contract. Keep it in a global and return ``description`` from the exported
/// function:
///
///     private let exported = Exported(Size.self)
///
///     @c(size_stage)
///     public func size_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
///
/// Unchecked because what it holds is written in `init` and only read afterwards.
public final class Exported: @unchecked Sendable {
  /// The description the contract asks for; it lives as long as the process.
  public var description: UnsafePointer<sluice_stage> { UnsafePointer(stage) }

  private let stage = UnsafeMutablePointer<sluice_stage>.allocate(capacity: 1)
  fileprivate let make: (Opening) -> Result<Instance, Outcome>
  /// The names of its options.
  fileprivate let optionNames: [String]

  /// Describes a stage. Nothing of it runs until the host opens it.
  public init<Author: Stage>(_ type: Author.Type) {
    make = { opening in
      do throws(Outcome) { return .success(Box(try Author(opening), host: opening.host)) } catch {
        return .failure(error)
      }
    }
    optionNames = Author.options.map(\.declaration.name)
    describe(Author.about, Author.options)
  }

  /// Describes a source. Nothing of it runs until the host opens it.
  public init<Author: Source>(_ type: Author.Type) {
    make = { opening in
      do throws(Outcome) { return .success(SourceBox(try Author(opening), host: opening.host)) } catch {
        return .failure(error)
      }
    }
    optionNames = Author.options.map(\.declaration.name)
    describe(Author.about, Author.options)
    stage.pointee.process = nil
    stage.pointee.start = startTransfer
    stage.pointee.turn = turnInstance
    stage.pointee.hold = holdTransfer
    stage.pointee.stop = stopTransfer
  }

  private func describe(_ about: About, _ declarations: [any OptionDeclaration]) {
    let options = declarations.map { Self.option($0.declaration) }
    let keys = about.keys.map { sluice_term(name: forever($0.key), help: forever($0.value)) }
    let codes = about.codes.map { sluice_term(name: forever($0.key), help: forever($0.value)) }
    var flags: UInt32 = about.produces ? SLUICE_PRODUCES : 0
    if about.derives { flags |= SLUICE_DERIVES }
    if about.expands { flags |= SLUICE_EXPANDS }
    switch about.role {
    case .line: break
    case .end: flags |= SLUICE_AT_END
    case .channel: flags |= SLUICE_CHANNEL
    case .source: flags |= SLUICE_SOURCE
    }
    stage.initialize(
      to: sluice_stage(
        size: UInt32(MemoryLayout<sluice_stage>.size), abi_major: SLUICE_ABI_MAJOR,
        abi_minor: SLUICE_ABI_MINOR,
        capability: about.capability.rawValue, flags: flags, option_count: UInt32(options.count),
        key_count: UInt32(keys.count), code_count: UInt32(codes.count), id: forever(about.id),
        version: forever(about.version), summary: forever(about.summary), options: forever(options),
        keys: forever(keys), codes: forever(codes), context: Unmanaged.passRetained(self).toOpaque(),
        open: openInstance, process: processAttachment, flush: about.flushes ? flushInstance : nil,
        close: closeInstance, start: nil, turn: about.turns ? turnInstance : nil, hold: nil, stop: nil))
  }

  private static func option(_ declaration: Declaration) -> sluice_option {
    var choices: UnsafePointer<UnsafePointer<CChar>?>?
    if !declaration.choices.isEmpty {
      choices = forever(declaration.choices.map { forever($0) } + [nil])
    }
    return sluice_option(
      size: UInt32(MemoryLayout<sluice_option>.size), type: declaration.type, shapes: declaration.shapes,
      required: declaration.required ? 1 : 0, name: forever(declaration.name),
      fallback: declaration.fallback.flatMap { forever($0) }, help: forever(declaration.help),
      choices: choices,
      minimum: declaration.range?.lowerBound ?? 0, maximum: declaration.range?.upperBound ?? 0)
  }
}

/// An open stage of any type.
private class Instance {
  func process(_ attachment: UnsafePointer<sluice_attachment>, _ call: OpaquePointer) -> sluice_verdict {
    SLUICE_FAIL
  }
  func flush(_ call: OpaquePointer) -> sluice_verdict { SLUICE_PASS }
  func start(_ transfer: UnsafePointer<sluice_transfer>, _ call: OpaquePointer) {}
  func turn(_ wake: Int32, _ milliseconds: Int64) {}
  func hold(_ call: OpaquePointer, _ isHeld: Bool) {}
  func stop(_ call: OpaquePointer) {}
}

private final class Box<Author: Stage>: Instance {
  private var author: Author
  private let host: UnsafePointer<sluice_host>

  init(_ author: Author, host: UnsafePointer<sluice_host>) {
    self.author = author
    self.host = host
  }

  override func process(_ raw: UnsafePointer<sluice_attachment>, _ call: OpaquePointer) -> sluice_verdict {
    let attachment = Attachment(raw, call: call, host: host)
    do throws(Outcome) {
      try author.process(attachment)
      return SLUICE_PASS
    } catch {
      error.say(to: host, call)
      return error.verdict
    }
  }

  override func turn(_ wake: Int32, _ milliseconds: Int64) { author.turn(wake: wake, for: milliseconds) }

  override func flush(_ call: OpaquePointer) -> sluice_verdict {
    do throws(Outcome) {
      try author.flush()
      return SLUICE_PASS
    } catch {
      error.say(to: host, call)
      return error.verdict
    }
  }
}

private final class SourceBox<Author: Source>: Instance {
  private var author: Author
  private let host: UnsafePointer<sluice_host>

  init(_ author: Author, host: UnsafePointer<sluice_host>) {
    self.author = author
    self.host = host
  }

  override func start(_ raw: UnsafePointer<sluice_transfer>, _ call: OpaquePointer) {
    author.start(Transfer(raw, call: call, host: host))
  }
  override func turn(_ wake: Int32, _ milliseconds: Int64) { author.turn(wake: wake, for: milliseconds) }
  override func hold(_ call: OpaquePointer, _ isHeld: Bool) { author.hold(Transfer.ID(call), isHeld) }
  override func stop(_ call: OpaquePointer) { author.stop(Transfer.ID(call)) }
}

// The contract's calls. Top-level functions, since isolation is not checked through C function pointers.

private func openInstance(
  _ stage: UnsafePointer<sluice_stage>?, _ raw: UnsafePointer<sluice_opening>?,
  _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> sluice_verdict {
  guard let context = stage?.pointee.context, let raw, let instance else { return SLUICE_FAIL }
  let exported = Unmanaged<Exported>.fromOpaque(context).takeUnretainedValue()
  let opening = Opening(raw, declared: exported.optionNames)
  switch exported.make(opening) {
  case .success(let made):
    if let name = opening.undeclared {
      opening.explain(
        .fail(
          "undeclared-option", "it reads the option '\(name)', which its `options` do not list; list it there"
        ))
      return SLUICE_FAIL
    }
    instance.pointee = Unmanaged.passRetained(made).toOpaque()
    return SLUICE_PASS
  case .failure(let outcome):
    opening.explain(outcome)
    return outcome.verdict
  }
}

private func processAttachment(
  _ instance: UnsafeMutableRawPointer?, _ attachment: UnsafePointer<sluice_attachment>?,
  _ call: OpaquePointer?
) -> sluice_verdict {
  guard let instance, let attachment, let call else { return SLUICE_FAIL }
  return Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().process(attachment, call)
}

private func flushInstance(_ instance: UnsafeMutableRawPointer?, _ call: OpaquePointer?) -> sluice_verdict {
  guard let instance, let call else { return SLUICE_FAIL }
  return Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().flush(call)
}

private func startTransfer(
  _ instance: UnsafeMutableRawPointer?, _ transfer: UnsafePointer<sluice_transfer>?, _ call: OpaquePointer?
) {
  guard let instance, let transfer, let call else { return }
  Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().start(transfer, call)
}

private func turnInstance(_ instance: UnsafeMutableRawPointer?, _ wake: Int32, _ milliseconds: Int64) {
  guard let instance else { return }
  Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().turn(wake, milliseconds)
}

private func holdTransfer(_ instance: UnsafeMutableRawPointer?, _ call: OpaquePointer?, _ isHeld: Int32) {
  guard let instance, let call else { return }
  Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().hold(call, isHeld != 0)
}

private func stopTransfer(_ instance: UnsafeMutableRawPointer?, _ call: OpaquePointer?) {
  guard let instance, let call else { return }
  Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().stop(call)
}

private func closeInstance(_ instance: UnsafeMutableRawPointer?) {
  guard let instance else { return }
  Unmanaged<Instance>.fromOpaque(instance).release()
}

/// A copy that lives as long as the process, as the contract asks of a description.
private func forever(_ text: String) -> UnsafePointer<CChar>? {
  UnsafePointer(strdup(text))
}

private func forever<Element>(_ elements: [Element]) -> UnsafePointer<Element>? {
  guard !elements.isEmpty else { return nil }
  let copy = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
  _ = copy.initialize(from: elements)
  return UnsafePointer(copy.baseAddress)
}
