import Glibc
import Pipeline

/// Libraries that lie beside a plugin and come with it.
public enum PluginLibraries {
  private static let dynamicKind: UInt64 = 6
  private static let needed: UInt64 = 1
  /// Bytes of a section that are read.
  private static let limit: UInt64 = 1 << 20

  /// Two stages of one worker whose plugins bring a library of one name each: ld.so(8) loads the first only, for both.
  public struct Clash: Equatable, Sendable {
    public var library: String
    /// The stage whose own library is not loaded.
    public var stage: StageDefinition
    public var other: StageDefinition
  }

  /// The clashes of a pipeline.
  public static func clashes(_ pipeline: PipelineDefinition) -> [Clash] {
    LinePlan(pipeline.stages).groups.flatMap { group in
      var first: [String: (file: String, stage: StageDefinition)] = [:]
      var clashes: [Clash] = []
      for stage in pipeline.stages[group.stages] where stage.description.program == nil {
        for (name, file) in own(stage.description.file).sorted(by: { $0.key < $1.key }) {
          if let (other, before) = first[name] {
            if other != file { clashes.append(Clash(library: name, stage: stage, other: before)) }
          } else {
            first[name] = (file, stage)
          }
        }
      }
      return clashes
    }
  }

  /// The files of a plugin's folder that it needs, by the names under which it does.
  private static func own(_ plugin: String) -> [String: String] {
    guard let file = ELFFile(plugin, sectionLimit: limit),
      let dynamic = file.sections.first(where: { $0.kind == dynamicKind }),
      file.sections.indices.contains(dynamic.link), let slash = plugin.lastIndex(of: "/")
    else { return [:] }
    let (entries, texts) = (file.bytes(of: dynamic), file.bytes(of: file.sections[dynamic.link]))
    var own: [String: String] = [:]
    for place in stride(from: 0, to: entries.count, by: 16)
    where ELFFile.integer(entries, place, 8) == needed {
      let name = ELFFile.text(texts, Int(clamping: ELFFile.integer(entries, place + 8, 8)), limit: 256)
      guard !name.isEmpty, let path = realpath(plugin[...slash] + name, nil) else { continue }
      defer { free(path) }
      own[name] = String(cString: path)
    }
    return own
  }
}
