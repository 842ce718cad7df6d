#include <stdio.h>
#include <weld/weld.h>

int main(void) {
    weld_error_t error = weld_error_new();
    weld_module_t module = weld_module_compile("[40, 2]", NULL, error);
    weld_context_t context = weld_context_new(NULL);
    weld_value_t value = weld_module_run(module, context, NULL, error);
    char* json = weld_value_to_json(value, error);
    printf("%s: %s\n", weld_version(), json ? json : weld_error_message(error));
    weld_string_free(json);
    weld_value_free(value);
    weld_context_free(context);
    weld_module_free(module);
    weld_error_free(error);
    return json == NULL;
}
