package transcript
import ("testing";"path/filepath";"os";"fmt";"hexapla/internal/shareddata";"compress/gzip";"io";"strings";"hexapla/layers")
func TestExplore(t *testing.T){
 d:=shareddata.Dir(t)
 var files []string
 for _,p:=range []string{"claude-code/*.jsonl","claude-code-fixtures/*.jsonl","claude-code-bulk/sessions/*","specstory/*.md","other-agents/*","transcripts/*/*","pi/*","aider/*"}{ m,_:=filepath.Glob(filepath.Join(d,p)); files=append(files,m...)}
 for _,f:=range files{
  h,err:=os.Open(f); if err!=nil{continue}
  if st,_:=h.Stat(); st.IsDir(){continue}
  var r io.Reader=h
  if strings.HasSuffix(f,".gz"){r,_=gzip.NewReader(h)}
  s,ms,rep,err:=ReadAll(filepath.Base(f),r)
  if err!=nil{fmt.Println("ERR",err);continue}
  chars:=0; orphan:=0
  kinds:=map[string]int{}
  for _,m:=range ms{chars+=len(m.Text);for _,x:=range m.Results{chars+=len(x.Content); if x.Tool==""{orphan++}}; for _,c:=range m.Calls{chars+=len(c.Input)}; kinds[string(m.Role)+"/"+string(m.Kind)]++; if m.Role==layers.RoleUser&&m.Kind==layers.InputUserFeedback{fmt.Printf("     fb %d %.80q\n",m.Line,m.Text)}}
  fmt.Println(filepath.Base(f),s.ID[:min(8,len(s.ID))],s.Model,rep.Messages,"p",rep.Prompts,"c",rep.Calls,"comp",rep.Compactions,"rew",rep.Rewinds,"chars",chars,"orphan",orphan,kinds,rep.LeftOut(),rep.Problems)
 }
}
