import Pipeline

// What stages leave beside contents, and take out of them.
extension Scenario {
  /// Something that a stage leaves beside a content, or takes out of it.
  struct Part: Hashable {
    var kind: Piece.Kind
    var name: String
    var content: String
  }

  /// A child's file name says what its content is, so that a stage that is not given the content knows it.
  static func content(ofChild fileName: String) -> String? {
    let parts = fileName.split(separator: "~", maxSplits: 1)
    return parts.count == 2 ? String(parts[1]) : nil
  }

  /// Levels below an item at which a stage still takes something out.
  private static let levels = 3

  /// What a stage of the line that passes a content leaves, in order.
  func parts(_ stage: StageDefinition, _ content: String) -> [Part] {
    derived(stage, content) + children(stage, content)
  }

  private func derived(_ stage: StageDefinition, _ content: String) -> [Part] {
    guard stage.description.derives, chance.oneIn(2, stage.id, content, "derives") else { return [] }
    return [
      Part(kind: .derived, name: "of-\(stage.id)", content: "\(content) by \(stage.id)"),
      // The same of all, and of all stages.
      Part(kind: .derived, name: "constant", content: "the same"),
    ]
  }

  private func children(_ stage: StageDefinition, _ content: String) -> [Part] {
    let level = content.utf8.count { $0 == UInt8(ascii: "/") }
    guard stage.description.expands, level < Self.levels, chance.oneIn(3, stage.id, content, "takes out")
    else {
      return []
    }
    var number = 0
    return (0..<chance.integer(1...3, stage.id, content, "children")).map { place in
      // Some are there twice, with the same name and content.
      if place > 0 && !chance.oneIn(4, stage.id, content, "twin", "\(place)") { number += 1 }
      let child = "\(content)/\(number)"
      return Part(kind: .child, name: "\(stage.id)~\(child)", content: child)
    }
  }

  /// Lets stages of a pipeline leave something.
  static func addTrees(_ pipeline: inout PipelineDefinition, _ chance: Chance) {
    for index in pipeline.stages.indices {
      let (id, description) = (pipeline.stages[index].id, pipeline.stages[index].description)
      guard description.role == .line, description.capability == .content else { continue }
      pipeline.stages[index].description.derives = chance.oneIn(2, id, "leaves derived objects")
      pipeline.stages[index].description.expands = chance.oneIn(2, id, "leaves contents")
    }
    pipeline.expand.waits = !chance.oneIn(4, "does not wait")
    pipeline.expand.depth = Int64(chance.choice([1, 2, 5], "depth"))
    pipeline.expand.contents = Int64(chance.choice([2, 5, 1000], "contents"))
  }
}
