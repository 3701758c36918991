import Control
import Glibc
import HomeFolder
import LedgerPort
import Manifest
import Pipeline
import Platform

/// The folders that `sluice run` watches, and what becomes of the files in them.
struct WatchArguments {
  static let options =
    [
      CommandOption(
        name: "watch", value: "DIR",
        help: "Take in the files of this folder, and those that come; repeatable.", takesSeveral: true),
      CommandOption(
        name: "quiet-for", value: "2s",
        help: "Take a file of a watched folder once nothing has happened to it for so long; else 2s."),
      CommandOption(
        name: "consume", value: "move:DIR|delete",
        help: "Move or remove a file of a watched folder once its attachment is completed and stored."),
    ] + IntakeArguments.defaultOptions

  let defaults: IntakeDefaults
  /// As they were given.
  let folders: [String]
  /// In nanoseconds.
  let quietPeriod: UInt64
  let consumption: Consumption.Way?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    folders = arguments.values("watch")
    defaults = try IntakeArguments.defaults(arguments)
    quietPeriod = UInt64(try arguments.duration("quiet-for") ?? 2000) * 1_000_000
    switch arguments.value("consume") {
    case nil: consumption = nil
    case "delete": consumption = .delete
    case let way? where way.hasPrefix("move:") && way.count > 5:
      consumption = .move(to: String(way.dropFirst(5)))
    case let way?:
      throw .usage("option '--consume' is delete or move:DIR, not '\(Terminal.printable(way))'")
    }
    let needed = ["quiet-for", "consume"] + IntakeArguments.defaultOptions.map(\.name)
    if folders.isEmpty, let option = needed.first(where: { arguments.value($0) != nil }) {
      throw .usage("option '--\(option)' is about watched folders; name one with --watch DIR")
    }
  }

  /// The folders without links, and what becomes of their files; checked.
  ///
  /// - Parameter pipeline: has to store what is to be consumed.
  func resolved(
    _ pipeline: PipelineDefinition, _ home: Home
  ) throws(CommandError) -> (roots: [[UInt8]], consumption: Consumption.Way?) {
    if folders.isEmpty { return ([], nil) }
    var roots: [[UInt8]] = []
    for folder in folders {
      let root = try NamedFolder(folder, "--watch")
      if let state = InputWalker.resolve(Array(home.path.utf8)), IntakeBound.contains(state, root.path) {
        throw .usage("--watch \(folder): lies in the home, which has Sluice's own state; name another folder")
      }
      if let other = roots.first(where: {
        IntakeBound.contains($0, root.path) || IntakeBound.contains(root.path, $0)
      }) {
        throw .usage(
          "--watch \(folder): overlaps with \(String(decoding: other, as: UTF8.self)), which is watched with all in it; "
            + "name one of the two")
      }
      roots.append(root.path)
    }
    guard let consumption else { return (roots, nil) }
    if !pipeline.stages.contains(where: { $0.description.capability == .store }) {
      throw CommandError(
        .configuration,
        "the pipeline has no stage that stores, so --consume would remove the only copy; add `store`, or leave --consume out"
      )
    }
    guard case .move(let named) = consumption else { return (roots, .delete) }
    let target = try NamedFolder(named, "--consume move:DIR")
    for root in roots {
      if IntakeBound.contains(root, target.path) {
        throw .usage("--consume move:\(named): lies in a watched folder; name a folder outside")
      }
      let other = try NamedFolder(String(decoding: root, as: UTF8.self), "--watch")
      if other.device != target.device {
        throw .usage(
          "--consume move:\(named): is on another file system than \(String(decoding: root, as: UTF8.self)); name a folder "
            + "beside it")
      }
    }
    return (roots, .move(to: String(decoding: target.path, as: UTF8.self)))
  }
}
