// A tokenizer as a state machine: a switch in a loop, one text a thread.
extern "C" __global__ void tokens(const unsigned char *text, int *words, int *numbers, int *strings, int *errors, int n, int len) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n)
        return;
    int w = 0, d = 0, q = 0, e = 0, state = 0;
    for (int i = 0; i <= len; i++) {
        int c = i < len ? text[id * len + i] : ' ';
        int kind = c == ' ' ? 0 : c >= '0' && c <= '9' ? 1 : c == '"' ? 2 : c == '\\' ? 3 : c == '#' ? 4 : 5;
        switch (state) {
        case 0:
            switch (kind) {
            case 0: break;
            case 1: state = 1; break;
            case 2: state = 2; break;
            case 3: e++; break;
            case 4: state = 4; break;
            default: state = 5; break;
            }
            break;
        case 1:
            if (kind == 1)
                break;
            if (kind == 0) {
                d++;
                state = 0;
            } else {
                e++;
                state = 6;
            }
            break;
        case 2: state = kind == 2 ? (q++, 0) : kind == 3 ? 3 : 2; break;
        case 3: state = 2; break;
        case 4: state = 4; break;
        case 5:
            if (kind == 0) {
                w++;
                state = 0;
            }
            break;
        default: state = kind == 0 ? 0 : 6; break;
        }
    }
    words[id] = w;
    numbers[id] = d;
    strings[id] = q;
    errors[id] = e + (state == 2 || state == 3);
}
