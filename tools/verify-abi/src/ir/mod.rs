//! Reads LLVM IR text: the calls that a compiled C++ caller makes.
//!
//! Both notations of pointers are read: with the pointee type (up to clang 14) and without (from 15).

mod call;
mod function;
mod types;

use std::collections::HashMap;

pub use call::{CFunctionCall, Unreadable, VirtualCall};
use types::{Definitions, Type};

/// A module of LLVM IR.
#[derive(Debug, Default)]
pub struct Module {
    definitions: Definitions,
    functions: HashMap<String, Vec<String>>,
    constants: HashMap<String, i64>,
    tables: HashMap<String, u64>,
}

impl Module {
    /// Reads the text of a module; unknown lines are skipped.
    pub fn read(text: &str) -> Self {
        let mut module = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("define ") {
                let Some((_, after)) = line.split_once('@') else { continue };
                let Some((name, _)) = types::name(after) else { continue };
                let body = lines.by_ref().take_while(|line| *line != "}");
                let lines = std::iter::once(line).chain(body).map(str::to_owned).collect();
                module.functions.insert(name.to_owned(), lines);
            } else if let Some(definition) = line.strip_prefix('%') {
                module.read_definition(definition);
            } else if let Some(global) = line.strip_prefix('@') {
                module.read_global(global);
            }
        }
        module
    }

    fn read_definition(&mut self, text: &str) -> Option<()> {
        let (name, rest) = types::name(text)?;
        let ty = Type::read(rest.trim_start().strip_prefix("= type ")?)?.0;
        self.definitions.insert(name.to_owned(), ty);
        Some(())
    }

    fn read_global(&mut self, text: &str) -> Option<()> {
        let (name, rest) = types::name(text)?;
        let (ty, value) = Type::read(rest.split_once(" constant ")?.1)?;
        match ty {
            Type::Integer(64) => {
                let value = types::split(value).first()?.parse().ok()?;
                self.constants.insert(name.to_owned(), value);
            }
            Type::Struct { fields, .. } => {
                let Some(Type::Array(entries, _)) = fields.first() else { return None };
                self.tables.insert(name.to_owned(), *entries);
            }
            _ => {}
        }
        Some(())
    }

    /// The value of a 64-bit constant; `None` if the module does not define it.
    pub fn constant(&self, name: &str) -> Option<i64> {
        self.constants.get(name).copied()
    }

    /// The number of functions in the vtable of a class at global scope.
    pub fn vtable_length(&self, class: &str) -> Option<u64> {
        let symbol = format!("_ZTV{}{class}", class.len());
        // the offset to top and the type precede the functions
        self.tables.get(&symbol)?.checked_sub(2)
    }

    /// The virtual call that function `name` makes on its first parameter.
    pub fn virtual_call(&self, name: &str) -> Result<VirtualCall, Unreadable> {
        VirtualCall::find(&self.body(name)?)
    }

    /// The call of C function `callee` that function `name` makes.
    pub fn c_call(&self, name: &str, callee: &str) -> Result<CFunctionCall, Unreadable> {
        CFunctionCall::find(&self.body(name)?, callee)
    }

    fn body(&self, name: &str) -> Result<function::Body, Unreadable> {
        let lines = self.functions.get(name).ok_or(Unreadable::NoFunction)?;
        Ok(function::Body::read(lines, &self.definitions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH_POINTEES: &str = r#"
%"class.api::Layer" = type { %"class.api::Base", %"class.api::VLayer"* }
%"class.api::Base" = type { i32 (...)** }
%"class.api::VLayer" = type { %"class.api::Base" }
%"class.api::Convolution" = type { %"class.api::Layer", %"class.api::VConvolution"* }
%"class.api::VConvolution" = type { %"class.api::Base" }
%"class.api::Dims" = type { i32, [8 x i64] }

@version = dso_local local_unnamed_addr constant i64 -42, align 8
@_ZTV11OwnedLogger = dso_local unnamed_addr constant { [7 x i8*] } { [7 x i8*] [i8* null, i8* null] }, align 8

define dso_local void @stride(%"class.api::Convolution"* nocapture noundef readonly %0, i1 noundef zeroext %1) local_unnamed_addr #0 {
  %3 = alloca %"class.api::Dims", align 8
  %4 = bitcast %"class.api::Dims"* %3 to i8*
  call void @llvm.lifetime.start.p0i8(i64 72, i8* nonnull %4) #7
  %5 = getelementptr inbounds %"class.api::Convolution", %"class.api::Convolution"* %0, i64 0, i32 1
  %6 = load %"class.api::VConvolution"*, %"class.api::VConvolution"** %5, align 8, !tbaa !5
  %7 = bitcast %"class.api::VConvolution"* %6 to void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)***
  %8 = load void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)**, void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)*** %7, align 8
  %9 = getelementptr inbounds void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)*, void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)** %8, i64 19
  %10 = load void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)*, void (%"class.api::Dims"*, %"class.api::VConvolution"*, i1)** %9, align 8
  call void %10(%"class.api::Dims"* nonnull sret(%"class.api::Dims") align 8 %3, %"class.api::VConvolution"* noundef nonnull align 8 dereferenceable(8) %6, i1 noundef zeroext %1) #7
  ret void
}

define dso_local void @destroy(%"class.api::Base"* noundef %0) local_unnamed_addr #0 {
  %2 = icmp eq %"class.api::Base"* %0, null
  br i1 %2, label %8, label %3

3:
  %4 = bitcast %"class.api::Base"* %0 to void (%"class.api::Base"*)***
  %5 = load void (%"class.api::Base"*)**, void (%"class.api::Base"*)*** %4, align 8
  %6 = getelementptr inbounds void (%"class.api::Base"*)*, void (%"class.api::Base"*)** %5, i64 1
  %7 = load void (%"class.api::Base"*)*, void (%"class.api::Base"*)** %6, align 8
  tail call void %7(%"class.api::Base"* noundef nonnull align 8 dereferenceable(16) %0) #7
  br label %8

8:
  ret void
}

define dso_local void @create(i8* noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = tail call i8* @create_INTERNAL(i8* noundef %0, i32 noundef %1) #7
  ret void
}
"#;

    const WITHOUT_POINTEES: &str = r#"
%"class.api::Dims" = type { i32, [8 x i64] }

@version = dso_local local_unnamed_addr constant i64 -42, align 8
@_ZTV11OwnedLogger = dso_local unnamed_addr constant { [7 x ptr] } { [7 x ptr] [ptr null, ptr null] }, align 8

define dso_local void @stride(ptr nocapture noundef readonly %0, i1 noundef zeroext %1) local_unnamed_addr #0 {
  %3 = alloca %"class.api::Dims", align 8
  call void @llvm.lifetime.start.p0(i64 72, ptr nonnull %3) #6
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %5 = load ptr, ptr %4, align 8, !tbaa !13, !noalias !19
  %6 = load ptr, ptr %5, align 8, !tbaa !11, !noalias !19
  %7 = getelementptr inbounds i8, ptr %6, i64 152
  %8 = load ptr, ptr %7, align 8, !noalias !19
  call void %8(ptr dead_on_unwind nonnull writable sret(%"class.api::Dims") align 8 %3, ptr noundef nonnull align 8 dereferenceable(8) %5, i1 noundef zeroext %1) #6
  ret void
}

define dso_local void @destroy(ptr noundef %0) local_unnamed_addr #0 {
  %2 = icmp eq ptr %0, null
  br i1 %2, label %7, label %3

3:
  %4 = load ptr, ptr %0, align 8, !tbaa !11
  %5 = getelementptr inbounds i8, ptr %4, i64 8
  %6 = load ptr, ptr %5, align 8
  tail call void %6(ptr noundef nonnull align 8 dereferenceable(16) %0) #6
  br label %7

7:
  ret void
}

define dso_local void @create(ptr noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = tail call ptr @create_INTERNAL(ptr noundef %0, i32 noundef %1) #6
  ret void
}
"#;

    fn signature(arguments: &[&str], result: &str) -> CFunctionCall {
        CFunctionCall {
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            result: result.to_owned(),
        }
    }

    #[test]
    fn virtual_call_is_read_from_either_pointer_notation() {
        for text in [WITH_POINTEES, WITHOUT_POINTEES] {
            let module = Module::read(text);
            let stride = VirtualCall { via: 16, slot: 19, signature: signature(&["bool"], "sret(Dims)") };
            assert_eq!(module.virtual_call("stride"), Ok(stride));
            let destroy = VirtualCall { via: 0, slot: 1, signature: signature(&[], "void") };
            assert_eq!(module.virtual_call("destroy"), Ok(destroy));
        }
    }

    #[test]
    fn c_call_constant_and_vtable_read_in_either_pointer_notation() {
        for text in [WITH_POINTEES, WITHOUT_POINTEES] {
            let module = Module::read(text);
            assert_eq!(module.c_call("create", "create_INTERNAL"), Ok(signature(&["ptr", "i32"], "ptr")));
            assert_eq!(module.constant("version"), Some(-42));
            assert_eq!(module.vtable_length("OwnedLogger"), Some(5));
        }
    }

    #[test]
    fn every_way_of_passing_an_argument_has_a_name() {
        let module = Module::read(
            "define void @f(ptr %0) {\n  %2 = load ptr, ptr %0\n  %3 = load ptr, ptr %2\n  %4 = tail call noundef zeroext i1 \
             %3(ptr %0, ptr nonnull byval(%\"struct.api::Weights\") align 8 %9, float noundef 1.0, i64 noundef 7, \
             i8 noundef zeroext 3, ptr null)\n  ret void\n}\n",
        );
        let words = ["byval(Weights)", "float", "i64", "zeroext i8", "ptr"];
        assert_eq!(module.virtual_call("f").map(|call| call.signature), Ok(signature(&words, "bool")));
    }

    #[test]
    fn caller_without_the_expected_call_is_an_error() {
        let body = |lines: &str| {
            let module = Module::read(&format!("define void @f(ptr %0, ptr %1) {{\n{lines}  ret void\n}}\n"));
            module.virtual_call("f")
        };
        assert_eq!(body(""), Err(Unreadable::NoCall));
        assert_eq!(body("  call void @g(ptr %0)\n"), Err(Unreadable::NoCall));
        let call = "  %3 = load ptr, ptr %0\n  %4 = load ptr, ptr %3\n  call void %4(ptr %0)\n";
        assert_eq!(body(&[call, "  call void %4(ptr %0)\n"].concat()), Err(Unreadable::SeveralCalls));
        assert_eq!(body(&call.replace("(ptr %0)", "(ptr %1)")), Err(Unreadable::UnknownObject));
        assert_eq!(
            body(&call.replace("load ptr, ptr %0", "load ptr, ptr %1")),
            Err(Unreadable::UnknownObject)
        );
        let other_table = "  %3 = getelementptr i8, ptr %0, i64 8\n  %4 = load ptr, ptr %3\n  %5 = load ptr, ptr %0\n  \
                           %6 = load ptr, ptr %5\n  call void %6(ptr %4)\n";
        assert_eq!(body(other_table), Err(Unreadable::UnknownObject));
        assert_eq!(Module::read("").virtual_call("f"), Err(Unreadable::NoFunction));
    }

    #[test]
    fn text_cut_anywhere_is_read_without_panic() {
        for text in [WITH_POINTEES, WITHOUT_POINTEES] {
            let lines: Vec<_> = text.lines().collect();
            for (index, line) in lines.iter().enumerate() {
                for end in 0..line.len() {
                    let mut lines = lines.clone();
                    lines[index] = &line[..end];
                    let module = Module::read(&lines.join("\n"));
                    let _ = (module.virtual_call("stride"), module.virtual_call("destroy"));
                    let _ = module.c_call("create", "create_INTERNAL");
                }
            }
        }
    }
}
