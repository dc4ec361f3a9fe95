package repo

import "go/ast"

// FuncName returns a function's name with its receiver type, for example (*meter).advance.
func FuncName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	switch t := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if name, ok := t.X.(*ast.Ident); ok {
			return "(*" + name.Name + ")." + f.Name.Name
		}
	case *ast.Ident:
		return t.Name + "." + f.Name.Name
	}
	return f.Name.Name
}
