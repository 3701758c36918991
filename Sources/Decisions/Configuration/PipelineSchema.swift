import Pipeline
import Platform

/// A JSON Schema (json-schema.org, draft 2020-12) of pipeline files, made from the declarations of the file's
/// keys and the plugins' options. With it, an editor completes and checks the same things as `sluice lint`.
///
/// Rules that a schema cannot express, such as that a channel must exist or that stages at the end come last,
/// are checked by lint only.
public struct PipelineSchema: ~Copyable {
  private let stages: [StageDescription]
  private var writer = JSONWriter()

  /// The schema, for pipelines of these plugins.
  public static func text(_ stages: [StageDescription]) -> String {
    var schema = PipelineSchema(stages: stages.sorted { $0.id < $1.id })
    schema.write()
    return schema.writer.text + "\n"
  }

  private init(stages: [StageDescription]) {
    self.stages = stages
  }

  private mutating func write() {
    let stages = stages
    writer.object { writer in
      writer.member("$schema", "https://json-schema.org/draft/2020-12/schema")
      writer.member("title", "A pipeline of Sluice")
      writer.member("type", "object")
      Self.names("required", ["version", "stages"], &writer)
      Self.closed(&writer)
      writer.key("properties")
      writer.object { writer in
        writer.key("version")
        writer.object { writer in
          writer.member("description", Grammar.version.help)
          writer.member("const", 1)
        }
        Self.option(Grammar.plugins, &writer)
        writer.key("stages")
        writer.object { writer in
          writer.member("description", "The line: what each attachment passes through, in order.")
          writer.member("type", "array")
          writer.member("minItems", 1)
          writer.key("items")
          Self.entry(
            [Grammar.id, Grammar.when] + Grammar.stageSettings.map(\.key),
            stages.filter { $0.role == .line || $0.role == .end },
            "stage", &writer)
        }
        writer.key("channels")
        writer.object { writer in
          writer.member("description", "Where events are delivered, by name.")
          writer.member("type", "object")
          writer.key("propertyNames")
          writer.object { $0.member("pattern", "^[a-z0-9-]+$") }
          writer.key("additionalProperties")
          Self.entry(
            Grammar.channelSettings.map(\.key), stages.filter { $0.role == .channel }, "channel",
            hasRetry: true, &writer
          )
        }
        Self.lanes(stages.filter { $0.role == .source }, &writer)
        Self.credentials(&writer)
        Self.retry(
          "How often and when a passing fault is tried again, of attachments and of deliveries.", &writer)
        writer.key("keep")
        writer.object { writer in
          writer.member("description", "How long attachments are kept once they have ended; else for ever.")
          writer.member("type", "object")
          Self.closed(&writer)
          writer.key("properties")
          writer.object { writer in for setting in Grammar.keep { Self.option(setting.key, &writer) } }
        }
        writer.key("expand")
        writer.object { writer in
          writer.member("description", "What is allowed of contents that stages take out of contents.")
          writer.member("type", "object")
          Self.closed(&writer)
          writer.key("properties")
          writer.object { writer in for setting in Grammar.expand { Self.option(setting.key, &writer) } }
        }
        writer.key("secrets")
        writer.object { writer in
          writer.member("description", "Where the keys lie that seal secrets in the ledger.")
          writer.member("type", "object")
          Self.closed(&writer)
          writer.key("properties")
          writer.object { writer in
            for key in [Grammar.masterKey, Grammar.olderKeys] { Self.option(key, &writer) }
          }
        }
        writer.key("serve")
        writer.object { writer in
          writer.member("description", "What clients of `sluice serve` may do.")
          writer.member("type", "object")
          Self.closed(&writer)
          writer.key("properties")
          writer.object { writer in
            for key in Grammar.serveKeys { Self.option(key, &writer) }
            writer.key(ServeSection.identityKey)
            writer.object { writer in
              writer.member("description", "Who signs tokens that tell who a user is (JSON Web Tokens).")
              writer.member("type", "object")
              Self.closed(&writer)
              writer.key("properties")
              writer.object { writer in
                for setting in Grammar.identity { Self.option(setting.key, &writer) }
                Self.option(Grammar.identityPrivate, &writer)
              }
              writer.key("required")
              writer.array { writer in for setting in Grammar.identity { writer.value(setting.name) } }
            }
            Self.clamd(&writer)
          }
        }
        for setting in Grammar.settings { Self.option(setting.key, &writer) }
      }
    }
  }

  private static func clamd(_ writer: inout JSONWriter) {
    writer.key(ClamdSection.key)
    writer.object { writer in
      writer.member("description", "Doors for clients that ask ClamAV's daemon whether a content is clean.")
      writer.member("type", "array")
      writer.member("maxItems", Int64(ServeRules.ClamdDoor.most))
      writer.key("items")
      writer.object { writer in
        writer.member("type", "object")
        closed(&writer)
        writer.key("properties")
        writer.object { writer in for setting in Grammar.clamd { option(setting.key, &writer) } }
        writer.key("required")
        writer.array { writer in for name in ["listen", "unknown"] { writer.value(name) } }
      }
    }
  }

  private static func lanes(_ sources: [StageDescription], _ writer: inout JSONWriter) {
    writer.key("lanes")
    writer.object { writer in
      writer.member("description", "How links are fetched.")
      writer.member("type", "object")
      closed(&writer)
      writer.key("properties")
      writer.object { writer in
        writer.key("downloads")
        entry(
          (Grammar.channelSettings.map(\.key) + Grammar.laneSettings.map(\.key)), sources, "lane",
          hasRetry: true, more: prefetch, &writer)
      }
    }
  }

  private static func prefetch(_ writer: inout JSONWriter) {
    writer.key(Grammar.prefetch)
    writer.object { writer in
      writer.member(
        "description", "Which links are fetched by themselves; the others are once somebody asks for them.")
      writer.member("type", "object")
      names("required", [Grammar.prefetchMessages.name], &writer)
      closed(&writer)
      writer.key("properties")
      writer.object { option(Grammar.prefetchMessages, &$0) }
    }
  }

  private static func credentials(_ writer: inout JSONWriter) {
    writer.key("credentials")
    writer.object { writer in
      writer.member("description", "What is said to hosts that want to know who asks, by name.")
      writer.member("type", "object")
      writer.key("additionalProperties")
      writer.object { writer in
        writer.member("type", "object")
        names("required", Grammar.credential, &writer)
        closed(&writer)
        writer.key("properties")
        writer.object { writer in
          for key in [Grammar.header, Grammar.hosts] + Grammar.credentialSettings.map(\.key) {
            option(key, &writer)
          }
        }
      }
    }
  }

  private static func retry(_ description: String, _ writer: inout JSONWriter) {
    writer.key("retry")
    writer.object { writer in
      writer.member("description", description)
      writer.member("type", "object")
      closed(&writer)
      writer.key("properties")
      writer.object { writer in
        for key in [Grammar.attempts, Grammar.backoff, Grammar.max] { option(key, &writer) }
      }
    }
  }

  /// A stage or channel. Its `use` decides which options are allowed.
  private static func entry(
    _ keys: [OptionDescription], _ plugins: [StageDescription], _ noun: String, hasRetry: Bool = false,
    more: (inout JSONWriter) -> Void = { _ in }, _ writer: inout JSONWriter
  ) {
    writer.object { writer in
      writer.member("type", "object")
      names("required", ["use"], &writer)
      closed(&writer)
      writer.key("properties")
      writer.object { writer in
        writer.key("use")
        writer.object { writer in
          writer.member("description", "The plugin of the \(noun).")
          writer.key("oneOf")
          writer.array { writer in
            for plugin in plugins {
              writer.object { writer in
                writer.member("const", plugin.id)
                writer.member("description", plugin.summary)
              }
            }
          }
        }
        for key in keys { option(key, &writer) }
        if hasRetry {
          retry("When its deliveries or transfers are tried again.", &writer)
        }
        more(&writer)
        writer.key("options")
        writer.object { $0.member("type", "object") }
      }
      writer.key("allOf")
      writer.array { writer in for plugin in plugins { choice(plugin, &writer) } }
    }
  }

  private static func choice(_ plugin: StageDescription, _ writer: inout JSONWriter) {
    let required = plugin.options.filter(\.required).map(\.name)
    writer.object { writer in
      writer.key("if")
      writer.object { writer in
        writer.key("properties")
        writer.object { writer in
          writer.key("use")
          writer.object { $0.member("const", plugin.id) }
        }
      }
      writer.key("then")
      writer.object { writer in
        if !required.isEmpty { names("required", ["options"], &writer) }
        writer.key("properties")
        writer.object { writer in
          writer.key("options")
          writer.object { writer in
            closed(&writer)
            if !required.isEmpty { names("required", required, &writer) }
            writer.key("properties")
            writer.object { writer in for one in plugin.options { option(one, &writer) } }
          }
        }
      }
    }
  }

  private static func closed(_ writer: inout JSONWriter) {
    writer.key("additionalProperties")
    writer.value(false)
  }

  private static func names(_ key: String, _ names: [String], _ writer: inout JSONWriter) {
    writer.key(key)
    writer.array { writer in for name in names { writer.value(name) } }
  }

  // MARK: An option

  private static func option(_ option: OptionDescription, _ writer: inout JSONWriter) {
    writer.key(option.name)
    writer.object { writer in
      writer.member("description", option.help)
      var shapes: [(inout JSONWriter) -> Void] = []
      if option.shapes.contains(.one) { shapes += scalars(option) }
      if option.shapes.contains(.list) {
        shapes.append { writer in
          writer.member("type", "array")
          writer.key("items")
          any(scalars(option), &writer)
        }
      }
      if option.shapes.contains(.map) {
        shapes.append { writer in
          writer.member("type", "object")
          writer.member("minProperties", 1)
          writer.key("propertyNames")
          writer.object { $0.member("pattern", patternText) }
          writer.key("additionalProperties")
          any(scalars(option), &writer)
        }
      }
      if shapes.count == 1 { return shapes[0](&writer) }
      writer.key("anyOf")
      writer.array { writer in for shape in shapes { writer.object(shape) } }
    }
  }

  private static func any(_ shapes: [(inout JSONWriter) -> Void], _ writer: inout JSONWriter) {
    if shapes.count == 1 { return writer.object(shapes[0]) }
    writer.object { writer in
      writer.key("anyOf")
      writer.array { writer in for shape in shapes { writer.object(shape) } }
    }
  }

  private static let patternText = "^(\\*/\\*|[^/*\\s]+/(\\*|[^/*\\s]+))$"

  /// The ways to write one value. A variable can replace any value.
  private static func scalars(_ option: OptionDescription) -> [(inout JSONWriter) -> Void] {
    let variable: (inout JSONWriter) -> Void = { writer in
      writer.member("type", "string")
      writer.member("pattern", "\\$\\{")
    }
    if !option.choices.isEmpty {
      return [{ writer in names("enum", option.choices, &writer) }, variable]
    }
    switch option.kind {
    case .text, .channelName, .file: return [{ $0.member("type", "string") }]
    case .integer:
      return [
        { writer in
          writer.member("type", "integer")
          if let range = option.range {
            if range.lowerBound != .min { writer.member("minimum", range.lowerBound) }
            if range.upperBound != .max { writer.member("maximum", range.upperBound) }
          }
        }, variable,
      ]
    case .number: return [{ $0.member("type", "number") }, variable]
    case .boolean: return [{ $0.member("type", "boolean") }, variable]
    case .bytes: return [text("^[0-9]+ ?([kKmMgGtT][iI]?)?[bB]$"), variable]
    case .duration: return [text("^[0-9]+ ?(ms|s|m|h|d)$"), variable]
    case .mediaType: return [text(patternText), variable]
    case .template: return [text("^[^/]"), variable]
    }
  }

  private static func text(_ pattern: String) -> (inout JSONWriter) -> Void {
    { writer in
      writer.member("type", "string")
      writer.member("pattern", pattern)
    }
  }
}
